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
    Marks("<|channel|>analysis<|message|>", "<|end|>", "gpt-oss", closes_alone=False),
)
"""Searched for in any case of letters."""
REPLY_MARKS = (
    "<|begin_of_solution|>",
    "<|open|>response<|sep|>",
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
)
"""What models write between their thoughts and the reply."""
SEARCH_BANNERS = (
    r"(?:已)?(?:阅读|搜索到?|检索到?)[ \t]*\d{1,4}[ \t]*个(?:相关)?(?:网页|网站|结果|資料|资料)",
    r"(?:已)?(?:閱讀|搜尋到?|檢索到?)[ \t]*\d{1,4}[ \t]*個(?:相關)?(?:網頁|網站|結果|資料)",
    r"(?:Searched|Found|Read)[ \t]\d{1,4}[ \t](?:web[ \t]?)?(?:sites?|pages?|results?)",
)
"""Patterns of the line with which a host says that it has searched, before the reply."""
