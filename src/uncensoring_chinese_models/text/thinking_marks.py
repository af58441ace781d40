"""The marks with which models of all families set their thoughts off from the reply."""

from __future__ import annotations

from typing import NamedTuple


class Marks(NamedTuple):
    """The pair of marks around a block of thoughts."""

    opening: str
    closing: str
    written_by: str
    closes_alone: bool = True
    """False where the closing mark also ends other things, so that alone it proves no thought."""


THINKING_MARKS = (
    Marks("<think>", "</think>", "DeepSeek, Qwen, GLM, Kimi K2, MiniMax M2, Step, Ring, MiMo"),
    Marks("<thinking>", "</thinking>", "models that are told to write so"),
    Marks("<thought>", "</thought>", "EXAONE"),
    Marks("<mm:think>", "</mm:think>", "MiniMax M3"),
    Marks("<think:opensource>", "</think:opensource>", "Hunyuan 3"),
    Marks("<seed:think>", "</seed:think>", "Seed-OSS"),
    Marks("◁think▷", "◁/think▷", "Kimi VL, Kimi Dev"),
    Marks("[THINK]", "[/THINK]", "Magistral"),
    Marks("<|think|>", "<|/think|>", "fine-tuned models"),
    Marks("<|thinking|>", "<|/thinking|>", "fine-tuned models"),
    Marks("<|begin_of_thought|>", "<|end_of_thought|>", "fine-tuned models"),
    Marks("<|open|>think<|sep|>", "<|close|>think<|sep|>", "Kimi K3"),
    Marks("<|channel>thought", "<channel|>", "Gemma 4"),
    Marks("<longcat_think>", "</longcat_think>", "LongCat"),
    Marks("[unused16]", "[unused17]", "Pangu"),
    Marks("<|START_THINKING|>", "<|END_THINKING|>", "Command A"),
    Marks("<|inner_prefix|>", "<|inner_suffix|>", "Apertus"),
    Marks("<|channel|>analysis<|message|>", "<|end|>", "gpt-oss", closes_alone=False),
)
"""Searched for in any case of letters."""
THINKING_TAG = r"[\w:.-]{0,40}think(?:ing)?[\w:.-]{0,60}|[\w:.-]{0,40}thoughts?|reasoning"
"""A pattern of the names of tags around thoughts: models have ever new ones, as `<think_never_used_51b>`."""
REPLY_MARKS = (
    "<|begin_of_solution|>",
    "<|START_RESPONSE|>",
    "<answer>",
    "<|open|>response<|sep|>",
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
)
"""What models write between their thoughts and the reply."""
SEARCH_BANNERS = (
    (
        r"(?:已|共|联网|聯網)?(?:阅读|搜索|检索|搜寻|找到|参考|引用|浏览|查阅|閱讀|搜尋|檢索|參考|瀏覽|查閱)[到了过過]?"
        r"[ \t]*\d{1,4}[ \t]*[个個篇条條份](?:相关|相關)?"
        r"(?:网页|网站|结果|资料|来源|文档|網頁|網站|結果|資料|來源|文檔)(?:作为参考|作為參考)?"
    ),
    (
        r"(?:Searched|Found|Read|Browsed|Visited|Reviewed|Cited)[ \t]\d{1,4}[ \t]"
        r"(?:web[ \t]?)?(?:sites?|pages?|results?|sources?)"
    ),
    r"已?深度思考(?:完成)?[ \t]*(?:[(（]用[时時][ \t]*\d{1,4}[ \t]*秒[)）])?",
    r"(?:Thought|Reasoned)[ \t]for[ \t](?:\d{1,4}|a[ \t]few|a[ \t]couple[ \t]of)[ \t](?:seconds?|minutes?|s)",
)
"""Patterns of the line with which a host says, before the reply, that it has searched or thought."""
