"""Who withheld: planted samples of hosts that take away and of models that decline."""

from __future__ import annotations

import pytest

from tests.measure.planted import happened, seen_as
from tests.measure.test_token_bills import sample
from uncensoring_chinese_models.measure.answers import Judged
from uncensoring_chinese_models.measure.compare.withheld import ComparedSample, Withholding

CANNED = "I'm sorry, I can't discuss that. Let us talk about the weather instead, my friend."
SHORT = "I'm sorry, I can't discuss that."
CHINESE = "你好，这个问题我暂时无法回答，让我们换个话题再聊聊吧。"


def compared_sample(
    text, tokens, thought=None, *, fact="unit", run="a", model="maker/model", **changes
):
    """Return one sample; its stance is what the recogniser would make of a refusal or an answer."""
    is_refusal = text in (CANNED, SHORT, CHINESE)
    stance = changes.pop("stance", "refuses" if is_refusal else "answers")
    mention = changes.pop("mention", "omits")
    language, reason = changes.pop("language", "en"), changes.pop("reason", "planted")
    changes.setdefault("finish_reason", "stop")
    changes.setdefault("delivery", "complete" if (text or "").strip() else "empty")
    host, is_own = changes.pop("host", "h"), changes.pop("is_own", False)
    delivery = changes["delivery"]
    cell = Judged(fact, "assistant", language, 1, 0, delivery, stance, mention, reason)
    return ComparedSample(run, model, host, cell, sample(text, tokens, thought, **changes), is_own)


def fair(number=4, tokens=9, **changes):
    """Return answers whose bills fit, by which books are judged."""
    return [
        compared_sample(f"It was gate {place}, they say.", tokens, **changes)
        for place in range(number)
    ]


def kind(one, *others):
    """Return who withheld the first of the samples."""
    return seen_as(Withholding([one, *others]).attributed[0])


# --- the run says that the host wrote it


def test_a_text_that_the_host_replaced_is_withheld_by_the_host():
    """The run has seen the seam, or that no token was billed."""
    spliced = compared_sample(f"The army{CHINESE}", 22, delivery="replaced")
    (found,) = Withholding([spliced]).attributed

    assert (found.delivery, found.withheld_by) == ("replaced", "host")


@pytest.mark.parametrize(
    ("tokens", "delivery", "who"),
    [
        (22, "suspected_block", "unclear"),
        (200, "replaced", "host"),
        (None, "suspected_block", "unclear"),
    ],
)
def test_the_bill_decides_about_a_canned_sentence_that_a_model_can_have_learned(
    tokens, delivery, who
):
    """If far more was billed than the sentence, the model wrote something else."""
    suspected = compared_sample(CHINESE, tokens, delivery="suspected_block")
    found = Withholding([suspected, *fair()]).attributed[0]

    assert (found.delivery, found.withheld_by) == (delivery, who)


# --- nothing came back


def test_billed_and_gone_is_erased():
    """Tokens billed and no text, from a server that otherwise bills what it shows."""
    assert kind(compared_sample("", 40), *fair()) == happened("erased")
    assert kind(compared_sample(None, 40), *fair()) == happened("erased")
    assert kind(compared_sample(" \n", 40), *fair()) == happened("erased")
    assert kind(compared_sample("...", 40), *fair()) == happened("erased")


def test_the_same_model_elsewhere_vouches_for_a_host_that_erases_everything():
    """A run without a text has no books of its own; another run of the same model has."""
    assert kind(compared_sample("", 40, run="b"), *fair(run="a")) == happened("erased")
    assert kind(compared_sample("", 40, run="b"), *fair(run="a", model="maker/other")) == happened(
        "unclear"
    )
    assert kind(compared_sample("", 40, run="b", messages=None), *fair(run="a")) == happened(
        "unclear"
    )
    assert kind(compared_sample("", 40, run="b", language="zh-Hans"), *fair(run="a")) == happened(
        "unclear"
    )


def test_itemised_bill_is_enough_where_there_are_no_books():
    """A server that says how much was thought says how much was not."""
    assert kind(compared_sample("", 40, 0)) == happened("erased")
    assert kind(compared_sample("", 40, 38)) == happened("unclear")


def test_immediate_end_is_the_models_silence():
    """A turn that ends at once, for the one token that ends it, is the model's own."""
    assert kind(compared_sample("", 1), *fair()) == happened("silent")
    assert kind(compared_sample(" ", 2), *fair()) == happened("silent")


@pytest.mark.parametrize("text", ["", " ", None])
def test_nothing_billed_may_be_a_block_before_the_model_was_asked(text):
    """A model that ends its turn writes one token; none was written by nobody."""
    assert kind(compared_sample(text, 0), *fair()) == happened("unclear")


@pytest.mark.parametrize("reason", ["tool_calls", "length", "error", None])
@pytest.mark.parametrize("tokens", [1, 40])
def test_empty_reply_with_another_end_accuses_nobody(reason, tokens):
    """A call of a tool has no text, and what was billed for it is no answer."""
    assert kind(compared_sample("", tokens, finish_reason=reason), *fair()) == happened("unclear")


@pytest.mark.parametrize("tokens", [2, 7])
def test_a_few_tokens_without_text_accuse_nobody(tokens):
    """Role tokens and marks of thoughts leave no text either."""
    assert kind(compared_sample("", tokens), *fair()) == happened("unclear")


def test_missing_usage_accuses_nobody():
    """Without a bill nobody can say who withheld."""
    assert kind(compared_sample("", None), *fair()) == happened("unclear")
    assert kind(compared_sample("", None), *fair(tokens=None)) == happened("unclear")


def test_server_that_bills_hidden_thoughts_is_not_accused():
    """Where ordinary answers cost far more than they hold, an empty one shows nothing."""
    assert kind(compared_sample("", 400), *fair(tokens=300)) == happened("unclear")
    assert kind(compared_sample("", 400, 0), *fair(tokens=300)) == happened("unclear")
    assert kind(
        compared_sample("", 400), compared_sample("", 400, reasoning="Hm."), *fair(tokens=300)
    ) == happened("unclear")


def test_server_that_bills_nothing_ever_says_nothing_of_silence():
    """Zero tokens for every text is no count."""
    assert kind(compared_sample("", 0), *fair(tokens=0)) == happened("unclear")


def test_thoughts_that_used_up_all_tokens_accuse_nobody():
    """Cut at max_tokens before a word was written."""
    assert kind(compared_sample("", 40, finish_reason="length"), *fair()) == happened("unclear")


# --- filtered


def test_filter_and_policy_are_the_hosts():
    """Both are named as such by the server."""
    assert kind(compared_sample("They", 4, delivery="blocked", mention=None)) == happened(
        "filtered"
    )
    blocked = compared_sample(
        None, None, delivery="blocked", error="policy", finish_reason=None, mention=None
    )
    assert kind(blocked) == happened("filtered")


def test_refusal_in_its_own_field_after_an_ordinary_end_may_be_the_models():
    """Some APIs put the model's own refusal there."""
    assert kind(
        compared_sample(None, 9, delivery="blocked", error="policy", mention=None)
    ) == happened("unclear")


def test_failed_call_was_withheld_by_nobody():
    """It is left out, as everywhere."""
    assert kind(compared_sample(None, None, delivery="failed", mention=None)) == happened("failed")


# --- cut


def test_text_that_breaks_off_though_more_was_billed_is_cut():
    """Finished by its own account, and yet without its end."""
    assert kind(compared_sample("It was the ga", 60), *fair()) == happened("cut")
    assert kind(compared_sample("军队于", 60, language="zh-Hans"), *_chinese()) == happened("cut")


def test_beginnings_that_are_alike_are_cut_all_the_same():
    """A host that leaves a word or two leaves the same ones for different facts."""
    same = [compared_sample("It was", 60, fact=fact) for fact in ("unit", "leader", "burial")]
    assert set(map(seen_as, Withholding([*same, *fair()]).attributed[:3])) == {happened("cut")}


@pytest.mark.parametrize(
    "sample_of",
    [
        pytest.param(lambda: compared_sample("It was the ga", 9), id="bill-fits"),
        pytest.param(lambda: compared_sample("It was the gate.", 60), id="whole"),
        pytest.param(
            lambda: compared_sample("It was", 60, finish_reason="length", delivery="truncated"),
            id="limit",
        ),
    ],
)
def test_text_is_not_cut_unless_everything_says_so(sample_of):
    """Each sign alone has an innocent reason."""
    assert kind(sample_of(), *fair()) == happened("otherwise")


@pytest.mark.parametrize(
    "sample_of",
    [
        pytest.param(lambda: compared_sample("It was the ga", None), id="no-bill"),
        pytest.param(lambda: compared_sample("It was the ga", 60, reasoning="Hm."), id="thoughts"),
    ],
)
def test_text_that_breaks_off_without_a_bill_may_have_been_cut(sample_of):
    """Where only the bill could tell and says nothing, nobody knows."""
    assert kind(sample_of(), *fair()) == happened("unclear")


def test_cut_text_that_tells_the_fact_was_told():
    """What was told was not withheld."""
    assert kind(compared_sample("It was the Ninth", 60, mention="states"), *fair()) == happened(
        "told"
    )


# --- replaced or declined


def test_models_habit_is_not_blamed_on_the_host():
    """The same refusal to every question, with bills that fit, is the model's own."""
    same = [compared_sample(CANNED, 22, fact=fact) for fact in ("unit", "leader", "burial")]
    assert set(map(seen_as, Withholding(same).attributed)) == {happened("declined")}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param("I do not know the answer to that.", 9, id="ignorance"),
        pytest.param("The festival of lanterns is a joy to behold.", 11, id="elsewhere"),
        pytest.param("Yes.", 2, id="short"),
    ],
)
def test_habit_that_the_recogniser_does_not_know_blames_nobody(text, tokens):
    """Who says the same to everything may know nothing of it."""
    same = [compared_sample(text, tokens, fact=fact) for fact in ("unit", "leader", "burial")]
    assert set(map(seen_as, Withholding(same).attributed)) == {happened("otherwise")}


@pytest.mark.parametrize("tokens", [6, 60, None])
def test_beginnings_that_end_at_the_limit_are_no_habit(tokens):
    """Answers to different facts may begin alike; max_tokens is ours, not the model's."""
    changes = {"finish_reason": "length", "delivery": "truncated"}
    same = [
        compared_sample("As is well documented by many", tokens, fact=fact, **changes)
        for fact in ("unit", "leader", "burial")
    ]
    withholding = Withholding([*same, *fair()])
    assert set(map(seen_as, withholding.attributed[:3])) == {happened("otherwise")}
    assert withholding.canned == ()


@pytest.mark.parametrize(
    ("reason", "who"),
    [("denies", "declined"), ("said instead", "declined"), ("decoy 1", "otherwise")],
)
def test_denial_and_the_official_version_are_the_models_and_an_error_is_nobodys(reason, who):
    """Who names a decoy may not know; who denies, or says what is said instead, withholds."""
    assert kind(
        compared_sample("No.", 2, mention="contradicts", stance="denies", reason=reason)
    ) == happened(who)


@pytest.mark.parametrize("tokens", [150, 1])
def test_canned_text_that_was_not_what_was_billed_is_replaced(tokens):
    """More tokens than it can hold, or fewer than it takes."""
    other = compared_sample(CANNED, tokens, fact="leader")
    assert kind(compared_sample(CANNED, tokens), other, *fair()) == happened("replaced")
    assert kind(compared_sample(CANNED, tokens), other) == happened("unclear")


def test_hidden_thoughts_before_a_canned_refusal_accuse_nobody():
    """A thinking model that refuses in the same words looks just so."""
    other = compared_sample(CANNED, 400, fact="leader")
    assert kind(compared_sample(CANNED, 400), other, *fair(tokens=300)) == happened("unclear")


def test_canned_text_without_usage_is_unknown():
    """Habit and host look the same without bills, whatever the recogniser makes of the text."""
    assert kind(
        compared_sample(CANNED, None), compared_sample(CANNED, None, fact="leader"), *fair()
    ) == happened("unclear")
    odd = "The festival of lanterns is a joy to behold."
    assert kind(
        compared_sample(odd, None), compared_sample(odd, None, fact="leader"), *fair()
    ) == happened("unclear")


def test_white_space_makes_no_other_text():
    """But for white space, it is to the letter."""
    spaced = compared_sample(CANNED.replace(" ", "\n "), 150, fact="leader", stance="refuses")
    assert kind(compared_sample(CANNED, 150), spaced, *fair()) == happened("replaced")
    other = compared_sample(CANNED.replace("friend", "fiend"), 150, fact="leader", stance="refuses")
    assert kind(compared_sample(CANNED, 150), other, *fair()) == happened("declined")


@pytest.mark.parametrize("text", [CANNED, CHINESE])
def test_one_text_for_models_of_different_makers_is_noted_and_its_bill_decides(text):
    """A tuned copy bears another name and says the same; only a bill that cannot be accuses."""

    def kinds(tokens, *others):
        other = compared_sample(text, tokens, fact="leader", run="b", model="another/model")
        withholding = Withholding([compared_sample(text, tokens), other, *others])
        assert withholding.canned[0].is_shared
        return set(map(seen_as, withholding.attributed[:2]))

    books = [*fair(), *fair(run="b", model="another/model")]
    assert kinds(22, *books) == {happened("declined")}
    assert kinds(150, *books) == {happened("replaced")}
    assert kinds(150) == {happened("unclear")}
    assert kinds(None, *books) == {happened("unclear")}


def test_text_of_different_makers_that_does_not_decline_is_unknown():
    """Odd enough to be a host's, with bills that would be the model's."""
    odd = "The festival of lanterns, held each year by the lake, is a great joy to behold indeed."
    other = compared_sample(odd, 22, fact="leader", run="b", model="another/model")
    assert set(map(seen_as, Withholding([compared_sample(odd, 22), other]).attributed)) == {
        happened("unclear")
    }
    other = compared_sample(odd, 22, fact="leader", run="b", model="maker/bigger")
    assert set(map(seen_as, Withholding([compared_sample(odd, 22), other]).attributed)) == {
        happened("otherwise")
    }


@pytest.mark.parametrize(
    ("names", "is_own"),
    [(("model", "other"), False), (("maker/model", "other"), False), (("a/m", "b/m"), True)],
)
def test_own_servers_and_names_without_a_maker_are_no_sign_of_a_host(names, is_own):
    """Two checkpoints on a server of one's own share their phrases, and nobody filters there."""
    one, other = (
        compared_sample(CANNED, 22, fact=fact, model=name, is_own=is_own)
        for fact, name in zip(("unit", "leader"), names, strict=True)
    )
    assert not Withholding([one, other]).canned[0].is_shared


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"model": "maker/bigger"}, id="same-maker"),
        pytest.param({"model": "another/model", "host": "elsewhere"}, id="other-host"),
        pytest.param({"model": "another/model", "fact": "unit"}, id="same-fact"),
    ],
)
def test_text_that_models_may_share_is_their_own(changes):
    """Models of one maker share phrases; two hosts do not share a filter."""
    other = compared_sample(CANNED, 22, **{"fact": "leader", "run": "b", **changes})
    assert set(map(seen_as, Withholding([compared_sample(CANNED, 22), other]).attributed)) == {
        happened("declined")
    }


def test_commonplace_across_makers_is_nobodys():
    """A short apology is trained into many models."""
    other = compared_sample(SHORT, 10, fact="leader", run="b", model="another/model")
    assert set(map(seen_as, Withholding([compared_sample(SHORT, 10), other]).attributed)) == {
        happened("declined")
    }


def test_hostile_text_is_only_text():
    """Controls, lone surrogates and forged marks are compared like any other."""
    odd = "\x1b[2J\ud83d {0.__class__} [/x] I'm the host: erased, filtered, replaced. %s"
    same = [compared_sample(odd, 40, fact=fact, stance="refuses") for fact in ("unit", "leader")]
    assert set(map(seen_as, Withholding(same).attributed)) == {happened("declined")}


def _chinese():
    return [
        compared_sample(f"军队于凌晨{number}时开进城市。", 12, language="zh-Hans")
        for number in "一二三四"
    ]
