"""Is the text whole? Cut, replaced and spliced replies over a real socket, and look-alikes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.test_sampling import plan_one
from tests.provider import Provider
from uncensoring_chinese_models.config.endpoints import Endpoint
from uncensoring_chinese_models.domain import Sample
from uncensoring_chinese_models.models.http_api import HttpApi, open_session
from uncensoring_chinese_models.models.sampling import read_sample
from uncensoring_chinese_models.text.canned import CANNED_SENTENCES

DEEPSEEK = "你好，这个问题我暂时无法回答，让我们换个话题再聊聊吧。"
SCOPE = "Sorry, that\u2019s beyond my current scope. Let\u2019s talk about something else."
KIMI = "Sorry, I cannot provide this information. Please feel free to ask another question."
DOUBAO = "抱歉，我无法回答你的问题"
RELAY = "I'm sorry, but I cannot assist with that request."
BROKEN = "In June 1989 the army was sent to the square, and the"
BROKEN_ZH = "1989年6月，军队进入广场，随后"
WHOLE = "In June 1989 the army was sent to the square."
REFUSAL = "I'm sorry, but I can't discuss that. It is beyond what I may speak of."


async def over_the_wire(
    text: str | None, arm: str = "assistant", *, preset: str = "openai_compatible", **changes: Any
) -> Sample:
    """Return the sample of a reply that a server sent."""

    def amend(ask, reply):
        choice = reply["choices"][0]
        if "message" in choice:
            choice["message"]["content"] = text
        else:
            choice["text"] = text
        choice["finish_reason"] = changes.get("finish", "stop")
        choice["native_finish_reason"] = changes.get("native")
        if "tokens" in changes:
            reply["usage"] = {"prompt_tokens": 9, "completion_tokens": changes["tokens"]}
        return reply

    planned = plan_one(
        arm,
        model=changes.get("model", "deepseek/deepseek-chat"),
        endpoint={"preset": preset, "base_url": "http://127.0.0.1:9/v1"},
        **changes.get("sampling", {}),
    )
    with Provider(amend=amend) as provider:
        async with open_session() as session:
            api = HttpApi(session, Endpoint(base_url=provider.base_url), "sk-test")
            return read_sample(planned, await api.complete(planned.call))


def kept(sample: Sample) -> str:
    return sample.own_words[sample.reply_start : sample.reply_end]


@pytest.mark.parametrize("arm", ["assistant", "user_persona"])
@pytest.mark.parametrize(
    ("finish", "native"),
    [
        ("length", None),
        ("LENGTH", None),
        ("max_tokens", None),
        ("MAX_TOKENS", None),
        ("max_output_tokens", None),
        ("context", None),
        ("model_length", None),
        ("maxOutputTokens", None),
        ("FINISH_REASON_MAX_TOKENS", None),
        ("token_limit", None),
        ("model_context_window_exceeded", None),
        ("REASON_MAX_LEN", None),
        ("limit", None),
        ("stop", "length"),
        ("stop", "max_tokens"),
    ],
)
async def test_a_reply_that_was_cut_at_the_limit_is_truncated(arm, finish, native):
    """Each host has its own word for it; a gateway may hide the host's."""
    sample = await over_the_wire(BROKEN, arm, finish=finish, native=native)

    assert (sample.delivery, kept(sample), sample.error) == ("truncated", BROKEN, None)


@pytest.mark.parametrize("arm", ["assistant", "user_persona"])
async def test_a_reply_without_a_reason_that_has_all_tokens_is_truncated(arm):
    """Some servers give no finish reason; the tokens then tell."""
    how: dict[str, Any] = {"finish": None, "sampling": {"max_tokens": 50}}

    assert (await over_the_wire(BROKEN, arm, tokens=50, **how)).delivery == "truncated"
    assert (await over_the_wire(WHOLE, arm, tokens=49, **how)).delivery == "complete"
    assert (await over_the_wire(WHOLE, arm, **how)).delivery == "complete"
    assert (await over_the_wire(WHOLE, arm, tokens=50, **how | {"finish": "stop"})).delivery == (
        "complete"
    )


@pytest.mark.parametrize(
    "finish", ["stop", "eos", None, "tool_calls", "stop_sequence", "time_limit"]
)
async def test_other_reasons_cut_nothing(finish):
    """An unknown reason is no sign of a cut."""
    assert (await over_the_wire(WHOLE, finish=finish)).delivery == "complete"


@pytest.mark.parametrize("sentence", [*CANNED_SENTENCES, SCOPE, DEEPSEEK + "\n", f" {DOUBAO}。"])
@pytest.mark.parametrize(("tokens", "delivery"), [(0, "replaced"), (21, "suspected_block")])
async def test_a_canned_sentence_in_the_place_of_a_reply(sentence, tokens, delivery):
    """Without a token of a model the host wrote it; else the model can have learned it."""
    sample = await over_the_wire(sentence, tokens=tokens)

    assert (sample.delivery, kept(sample).strip()) == (delivery, "")
    assert sample.error == sentence.strip()
    assert sample.text == sample.own_words == sentence
    assert sample.target_words.strip() == ""


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (BROKEN, SCOPE),
        (BROKEN + " ", KIMI),
        (BROKEN_ZH, DEEPSEEK),
        ("1989年6月，", DOUBAO),
        (
            "一九八九年六月，軍隊進入廣場，隨後",
            "你好，這個問題我暫時無法回答，讓我們換個話題再聊聊吧。",
        ),
        ("<think>They ask about 1989.</think>In June 1989,", SCOPE),
    ],
)
async def test_a_reply_that_breaks_off_and_goes_on_as_a_canned_sentence_is_replaced(
    start, sentence
):
    """What the model wrote before is kept as its own; the rest is the host's."""
    sample = await over_the_wire(start + sentence, tokens=40)

    assert (sample.delivery, sample.error) == ("replaced", sentence)
    assert sample.target_words == start
    assert kept(sample) == start.rpartition("</think>")[2]


async def test_a_canned_sentence_behind_a_whole_one_is_only_suspected():
    """A model that has learned the sentence ends its reply with it too."""
    sample = await over_the_wire(f"{WHOLE} {SCOPE}", tokens=40)
    unbilled = await over_the_wire(f"{WHOLE} {SCOPE}", tokens=0)

    assert (sample.delivery, kept(sample)) == ("suspected_block", f"{WHOLE} ")
    assert unbilled.delivery == "replaced"


@pytest.mark.parametrize("start", ["DeepSeek then replies ", "它回答", "The sentence is "])
async def test_a_canned_sentence_that_the_text_announces_is_only_suspected(start):
    """A text about censorship may give the sentence without quotation marks."""
    sample = await over_the_wire(start + SCOPE, tokens=40)

    assert sample.delivery == "suspected_block"


async def test_thoughts_before_a_canned_sentence_are_the_models():
    """A host that replaces the reply may leave the thoughts."""
    text = f"<think>\nThey ask about 1989.\n</think>\n\n{DEEPSEEK}"
    sample = await over_the_wire(text, tokens=0)

    assert (sample.delivery, kept(sample), sample.error) == ("replaced", "", DEEPSEEK)
    assert sample.target_words.rstrip() == text.removesuffix(DEEPSEEK).rstrip()


@pytest.mark.parametrize(
    "text",
    [
        REFUSAL,
        RELAY,
        f"{BROKEN} {RELAY}",
        f'It then shows: "{SCOPE}"',
        f"DeepSeek 会说：{DEEPSEEK}",
        f"The screen then says: {SCOPE}",
        f"“{SCOPE}”",
        f"`{DEEPSEEK}`",
        f"> {SCOPE}",
        f"{SCOPE} So said the screen, and the child laughed.",
        "这个问题我无法回答，让我们聊聊别的吧。",
        "Let's talk about something else.",
    ],
)
async def test_a_refusal_of_the_model_and_a_quote_are_its_own_words(text):
    """Only the known sentences of hosts count, and not where the text speaks of them."""
    sample = await over_the_wire(text, tokens=40)

    assert (sample.delivery, kept(sample), sample.error) == ("complete", text, None)


@pytest.mark.parametrize("preset", ["vllm", "llama_cpp", "sglang"])
@pytest.mark.parametrize("text", [DEEPSEEK, BROKEN_ZH + DEEPSEEK])
async def test_without_a_host_the_model_wrote_the_sentence(preset, text):
    """On one's own server nobody else writes the text."""
    sample = await over_the_wire(text, preset=preset, tokens=21)

    assert (sample.delivery, kept(sample)) == ("complete", text)


@pytest.mark.parametrize("sentence", [SCOPE, RELAY, DEEPSEEK])
async def test_what_a_filter_writes_behind_a_reply_is_kept_apart(sentence):
    """The finish reason says that it was a filter: blocked, with the beginning and the host's words."""
    sample = await over_the_wire(f"{BROKEN} {sentence}", finish="content_filter")

    assert (sample.delivery, sample.target_words) == ("blocked", f"{BROKEN} ")
    assert sample.error == sentence


async def test_text_that_a_filter_cut_is_the_models():
    """Without words of the host all of it is the model's."""
    sample = await over_the_wire(BROKEN, finish="content_filter")

    assert (sample.delivery, sample.target_words, sample.error) == ("blocked", BROKEN, None)


@pytest.mark.parametrize("finish", ["stop", "length"])
@pytest.mark.parametrize(
    "text", ["<think>They ask about 1989, so", "◁think▷Hm.◁/think▷\n", " [THINK]嗯", "", None, "\n"]
)
async def test_thoughts_alone_are_no_reply(text, finish):
    """As where the server splits the thoughts off and sends an empty text."""
    sample = await over_the_wire(text, finish=finish)

    assert (sample.delivery, sample.said.strip()) == ("empty", "")
    assert sample.text == text


async def test_thoughts_that_the_template_opened_are_thoughts_also_where_they_are_cut():
    """The opening mark is in our prompt, so the text has none."""
    how: dict[str, Any] = {
        "model": "deepseek-ai/DeepSeek-R1",
        "sampling": {"assistant_via": "template"},
    }
    cut = await over_the_wire("They ask about 1989, so", finish="length", **how)
    done = await over_the_wire(f"They ask.\n</think>\n\n{WHOLE}", **how)
    prefilled = await over_the_wire(
        " the army came.", "assistant_prefill", **how | {"sampling": {"prefill": "In 1989"}}
    )

    assert (cut.delivery, kept(cut)) == ("empty", "")
    assert (done.delivery, kept(done)) == ("complete", WHOLE)
    assert done.said.strip() == WHOLE
    assert done.said.index(WHOLE) == done.own_words.index(WHOLE)
    assert (prefilled.delivery, kept(prefilled)) == ("complete", " the army came.")


async def test_a_continuation_that_holds_a_closing_mark_is_whole():
    """A text that continues ours is no reply, so a closing mark alone ends nothing in it."""
    sample = await over_the_wire(f" the tag.\n</think>\n{WHOLE}", "user_persona")

    assert kept(sample) == sample.own_words
