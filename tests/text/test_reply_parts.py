"""A reply is found behind the thoughts of every family, and no text that quotes a mark is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncensoring_chinese_models.models.templates import load_families
from uncensoring_chinese_models.text.reply_parts import (
    opens_thought,
    parts_of,
    reply_in,
    thought_spans,
)
from uncensoring_chinese_models.text.thinking_marks import REPLY_MARKS, THINKING_MARKS

MARKS = {marks.opening: marks for marks in THINKING_MARKS}
REPLY = "In 1987, 212 people died."


def has_reply(text: str) -> bool:
    return bool(said(text).strip())


def is_all_thought(text: str) -> bool:
    return bool(thought_spans(text)) and not has_reply(text)


def said(text: str, **how: bool) -> str:
    return text[slice(*reply_in(text, **how))]


@pytest.mark.parametrize("marks", MARKS.values(), ids=MARKS)
@pytest.mark.parametrize("gap", ["", "\n", "\n\n"], ids=["joined", "line", "paragraph"])
@pytest.mark.parametrize("is_reply", [True, False], ids=["reply", "continuation"])
def test_a_closed_block_of_every_family_is_no_part_of_the_reply(marks, gap, is_reply):
    """The offsets are those of the text; marks count in any case of letters."""
    for opening, closing in (marks[:2], [each.upper() for each in marks[:2]]):
        block = f"{opening}{gap}They ask about 六四.{gap}{closing}"
        text = f"{gap}{block}{gap}{REPLY}"

        assert said(text, is_reply=is_reply) == REPLY
        (span,) = thought_spans(text, is_reply=is_reply)
        assert text[slice(*span)] == block
        assert has_reply(text)
        assert not is_all_thought(text)


@pytest.mark.parametrize("marks", MARKS.values(), ids=MARKS)
def test_thoughts_that_are_cut_off_leave_no_reply(marks):
    """A text that ends in its thoughts has no reply; nor has one that ends right after them."""
    cut = f" {marks.opening}I must not say that in 1987"
    ended = f"{marks.opening}I will not reply.{marks.closing}\n"

    assert is_all_thought(cut)
    assert parts_of(cut).is_open
    assert is_all_thought(ended)
    assert not parts_of(ended).is_open
    assert (said(cut), said(ended)) == ("", "")


@pytest.mark.parametrize("marks", [each for each in THINKING_MARKS if each.closes_alone])
@pytest.mark.parametrize(
    "text", ["{0}{1}{2}", "\n{0}\n{1}\n\n{2}", "{0}, so let me reply\n{1}{2}", "嗯，开始吧。{1}{2}"]
)
def test_a_closing_mark_alone_ends_thoughts_that_began_in_the_prompt(marks, text):
    """Many templates put the opening mark into the prompt; only the closing one comes back."""
    text = text.format("I know it well.", marks.closing, REPLY)

    assert said(text) == REPLY
    assert said(text, is_reply=False) == text


def test_a_mark_that_closes_other_things_too_proves_no_thought():
    """`<|end|>` ends any message of gpt-oss and of Phi."""
    assert said("It was 212.<|end|>\nYes.") == "It was 212.<|end|>\nYes."


@pytest.mark.parametrize(
    "text",
    [
        "The machine printed <think> on the paper tape, thought, printed </think> and stopped.",
        "“<think>” was all that the screen showed. He typed “</think>” and went home.",
        "R1 closes its thoughts with `</think>`, then replies.",
        "它先写“<think>”，再写“</think>”，然后才回答。",
        "Models write </think> before they reply. Qwen does so too.",
        "They often write </think>, then the reply.",
        "A list: [1] the army, [2] the students. a < b, and ◁ is a triangle.",
        "It rose.\n\n<think>Was it 212?</think> It was 212.",
        "Searched 12 sites for survivors, the report says.",
        "已搜索到 12 个网页的用户说，这里没有答案。",
        "<thin>paper</thin>",
        "<think> is a tag that models use to open thoughts.",
        "<think> and </think> are tags that surround thoughts. They are special tokens.",
        "</think> is a tag.",
        "R1的标记是</think>，它结束思考。",
        "思考以</think>结束。",
        "標記</think>表示結束。",
        "Found 12 results of the search in 1989, they said.",
        "已阅读 12 个网页后，我认为有 212 人。",
        "",
    ],
)
def test_a_text_that_speaks_of_marks_is_not_cut(text):
    """A novel may quote the marks, and a model may explain them."""
    assert said(text) == text
    assert thought_spans(text) == ()


def test_thoughts_that_quote_their_own_mark_end_later():
    """The block ends where the model ends it, not where it speaks of the mark."""
    assert said(f"<think>I close with `</think>` at the end.</think>{REPLY}") == REPLY
    assert said(f"<think>I must not write </think> yet.\n</think>\n{REPLY}") == REPLY
    assert said(f"<think>Done </think> {REPLY}") == REPLY


@pytest.mark.parametrize(
    "thoughts",
    [
        "<think>a <think>b</think> c</think>",
        "<think>They use <think> in R1.</think>",
        "<think>\n<think>\nb</think>\n",
        "<think ></think >",
        "<think_never_used_51bce0c7>a</think_never_used_51bce0c7>",
        "<my_thoughts>a</my_thoughts>",
        "<reasoning>a</reasoning>",
        "<think>" * 100 + "</think>",
    ],
)
def test_blocks_inside_blocks_and_tags_of_new_names_are_thoughts(thoughts):
    """Where the marks do not come out even, the first closing mark counts."""
    assert said(thoughts + REPLY) == REPLY
    assert said(f"{thoughts}\n\n{REPLY}", is_reply=False) == REPLY


@pytest.mark.parametrize(
    "banner",
    [
        *("已搜索到 12 个网页", "搜索到5个网页。", "已搜尋到 12 個網頁", "已阅读 30 个网页"),
        *("Searched 9 sites", "Found 12 results", "Searched 3 web pages."),
        *("参考 10 篇资料", "🔍 已搜索 8 个网站：", "找到 10 篇资料作为参考", "Browsed 4 sources"),
        *("已深度思考（用时 12 秒）", "Thought for 12 seconds"),
    ],
)
@pytest.mark.parametrize("thought", ["", "<think>Hm.</think>\n", "Hm.\n</think>\n"])
def test_the_line_of_a_web_search_is_passed_over(banner, thought):
    """A host writes it before the thoughts or before the reply."""
    assert said(f"{banner}\n\n{thought}{REPLY}") == REPLY
    assert said(f"<think>Hm.</think>{banner}\n{REPLY}") == REPLY
    assert not has_reply(banner)


@pytest.mark.parametrize("mark", REPLY_MARKS)
def test_the_mark_of_the_reply_is_passed_over(mark):
    """Some families mark the beginning of the reply as well."""
    assert said(f"<think>Hm.</think>{mark}{REPLY}") == REPLY


def test_several_blocks_are_several_spans():
    """What stands between them is thoughts' white space; the reply begins behind the last one."""
    text = f"<think></think>\n<thinking>Hm.</thinking> {REPLY}"

    assert [text[slice(*span)] for span in thought_spans(text)] == [
        "<think></think>",
        "<thinking>Hm.</thinking>",
    ]
    assert said(text) == REPLY


def test_thoughts_that_the_prompt_opened_need_no_mark_in_the_text():
    """Where such a text is cut off, no mark shows that it is a thought; the prompt does."""
    assert opens_thought("<｜Assistant｜><think>\n")
    assert said("They ask about 1987, so", in_thought=True) == ""
    assert said(f"They ask.</think>{REPLY}", in_thought=True, is_reply=False) == REPLY
    assert not opens_thought("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert not opens_thought("<｜Assistant｜><think>\nIn 1987,")


OPENERS = sorted(
    {
        opener
        for template in load_families().values()
        for opener in (template.assistant_open, template.assistant_open_no_think or "")
        if "think" in opener or "thought" in opener
    }
)


@pytest.mark.parametrize("opener", OPENERS)
def test_the_marks_of_every_chat_template_are_known(opener):
    """The opener of an assistant turn either opens thoughts or has closed them."""
    at = max(opener.rfind(marks.closing) for marks in THINKING_MARKS)

    assert opens_thought(opener) != (at >= 0)


@given(
    st.lists(
        st.sampled_from([*MARKS, *(m.closing for m in THINKING_MARKS), " ", "\n", "x", "`", "。"])
        | st.text(max_size=4)
    ).map("".join),
    st.booleans(),
    st.booleans(),
)
def test_the_parts_of_any_text_are_in_order(text, is_reply, in_thought):
    """Thoughts lie before the reply, which ends with the text."""
    parts = parts_of(text, is_reply=is_reply, in_thought=in_thought)
    edges = [edge for span in (*parts.thoughts, parts.reply) for edge in span]

    assert edges == sorted(edges)
    assert edges[-1] == len(text)
    assert parts.is_open <= bool(parts.thoughts)


@pytest.mark.parametrize(
    ("unit", "reply"),
    [("<think>", ""), ("</think>", ""), ("<think></think>", ""), ("`</think>`", None), ("<", None)],
)
def test_a_million_characters_of_marks_are_read(unit, reply):
    """The time grows with the text, not with its square: else this would not end."""
    text = unit * (1_000_000 // len(unit))

    assert said(text) == (text if reply is None else reply)
