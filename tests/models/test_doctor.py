"""Each check of the doctor is a function of replies: what it makes of them, and when it will not say."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from tests.support import ROOT
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.domain import Price, Reply, Token, Usage
from uncensoring_chinese_models.errors import FailedCheckError, RejectedError, TransientError
from uncensoring_chinese_models.models.budget import worst_case
from uncensoring_chinese_models.models.doctor.canaries import MAX_TOKENS, CanaryReplies, CheckResult
from uncensoring_chinese_models.models.doctor.examine import (
    canary_bounds,
    checked_endpoints,
    judge_check,
    refuse_failed,
)
from uncensoring_chinese_models.models.doctor.screen import (
    MAX_LINES,
    WIDTH,
    conclusion,
    doctor_lines,
    in_words,
    warnings_of,
)
from uncensoring_chinese_models.models.doctor.table import CHECKS
from uncensoring_chinese_models.models.doctor.token_checks import special_tokens_of
from uncensoring_chinese_models.models.sampling import Sampler
from uncensoring_chinese_models.models.templates import load_families

BY_NAME = {check.name: check for check in CHECKS}
ARMS = ["user_persona", "assistant", "assistant_prefill", "raw"]
PIN = {"only": ["atlas-cloud/fp8"], "allow_fallbacks": False}


def subject(where="target", **changes):
    """Return a subject by its name, such as target/raw; keywords change the config."""
    changes.setdefault("sampling", {"arms": ARMS})
    config = AuditConfig.model_validate(
        {"topic": "t", "auditing_model": "a/b", "audited_model": "deepseek/deepseek-chat"} | changes
    )
    side, _, arm = where.partition("/")
    every = checked_endpoints(config, Sampler(config), {"auditor": None, "target": None})
    return next(each for each in every if (each.side, each.arm or "") == (side, arm))


def judged(check, results, where="target/user_persona", **changes):
    """Judge results: texts, prompt tokens, replies or errors by the names of canaries."""
    made = {name: _result(value) for name, value in results.items()}
    return BY_NAME[check].judge(CanaryReplies(subject(where, **changes), made)).verdict


def _result(value):
    if isinstance(value, str):
        return Reply(value, finish_reason="stop")
    if isinstance(value, int):
        return Reply("x", usage=Usage(value, 1))
    return value


def counts(words, special=None, bos=None):
    """Return the replies of the prompts that are counted."""
    named = dict(zip(("words_8", "words_16", "words_32"), words, strict=True))
    named |= {} if special is None else {"special_<｜User｜>": special}
    return named | ({} if bos is None else {"bos": bos})


@pytest.mark.parametrize(
    ("words", "special", "bos", "verdict"),
    [
        ((8, 16, 32), 8, 9, "yes"),  # raw, and our BOS is the only one
        ((9, 17, 33), 9, 10, "no"),  # the server adds one, too
        ((9, 17, 33), 9, 9, "yes"),  # it adds one only where none is
        ((9, 17, 33), 8, 10, "unknown"),  # the two estimates differ
        ((9, 17, 33), 40, 10, "unknown"),  # only one of them is to be had
        ((10, 18, 34), 10, 11, "unknown"),  # too much for a BOS, too little for a template
        ((11, 19, 35), 11, 12, "no"),  # DeepSeek's own template around it
        ((28, 36, 52), 28, 29, "no"),  # a template with a system block
        ((16, 32, 64), 8, 9, "yes"),  # a tokenizer that cuts the word in two
        ((8, 16, 30), 8, 9, "unknown"),  # counts that no tokenizer gives
        ((8, 8, 8), 8, 8, "unknown"),  # counts that count nothing
        ((None, None, None), None, None, "unknown"),
    ],
)
def test_raw_prompt_is_judged_by_what_is_left_over(words, special, bos, verdict):
    """The overhead at no words tells a template or a second BOS; what is between is unknown."""
    if words[0] is None:
        assert judged("raw_prompt", dict.fromkeys(("words_8", "words_16"), Reply("x"))) == verdict
    else:
        assert judged("raw_prompt", counts(words, special, bos)) == verdict


def test_bos_of_two_tokens_is_no_template():
    """GLM's prefix has two tokens; a server that adds it doubles ours."""
    settings = {"audited_model": "z-ai/glm-4.6"}
    added = {"words_8": 10, "words_16": 18, "words_32": 34, "special_<|user|>": 10}

    assert judged("raw_prompt", added | {"bos": 12}, **settings) == "no"
    assert judged("raw_prompt", added | {"bos": 10}, **settings) == "yes"


@pytest.mark.parametrize(
    ("special", "verdict"),
    [(8, "yes"), (9, "yes"), (40, "no"), (16, "no"), (0, "no"), (12, "unknown")],
)
def test_special_tokens_cost_one_each(special, verdict):
    """As plain text they cost more, dropped they cost nothing."""
    assert judged("special_tokens", counts((8, 16, 32), special)) == verdict


def test_special_tokens_are_those_of_the_turns():
    """Neither BOS nor a system block is looked at; roles in plain words have none."""
    assert special_tokens_of(subject("target/user_persona")) == ("<｜User｜>",)
    assert special_tokens_of(subject("target/assistant_prefill")) == (
        "<｜User｜>",
        "<｜Assistant｜>",
    )
    assert special_tokens_of(subject("target/raw")) == ()
    plain = subject("target/user_persona", audited_endpoint={"template": "deepseek-v2"})
    assert special_tokens_of(plain) == ()
    minimax = subject("target/user_persona", audited_endpoint={"template": "minimax-m3"})
    assert special_tokens_of(minimax) == ("]~b]",)


TOKENS = ("words_8", "words_16", "words_32", "bos", "special_<｜User｜>")
OPEN = " king and the fox and the bell"


@pytest.mark.parametrize(
    ("text", "finish", "verdict"),
    [
        (" king ", "stop", "yes"),
        (" king and", "stop", "yes"),  # the stop string is kept, but nothing after it
        (" king and the fox", "length", "no"),
        ("", "stop", "yes"),
        (" queen with no", "length", "unknown"),  # another text, cut by the limit
        (" queen with no", "stop", "unknown"),
        (OPEN, "stop", "no"),
    ],
)
def test_stop_is_judged_by_a_word_that_was_written_before(text, finish, verdict):
    """Only text behind the stop string is a no; another text altogether tells nothing."""
    results = {"user_persona_open": OPEN, "user_persona_stop": Reply(text, finish_reason=finish)}
    assert judged("stop", results) == verdict


@pytest.mark.parametrize("text", ["", ".", " king", " king fox", " a b c d", "王"])
def test_text_without_a_middle_cannot_be_stopped(text):
    """Where the model writes too little, no second canary is sent and nothing is claimed."""
    seen = CanaryReplies(subject("target/raw"), {"raw_open": Reply(text)})

    assert BY_NAME["stop"].following(seen) == []
    assert BY_NAME["stop"].judge(seen).verdict == "unknown"


@pytest.mark.parametrize(
    ("numbers", "letters", "verdict"),
    [
        (" 6, 7, 8", " f, g, h", "yes"),
        ("6", "Sure!", "yes"),
        (" six", "", "yes"),
        ("1, 2, 3, 4", "A, B, C", "no"),
        ("Sure! 1, 2", "Here is the alphabet", "no"),
        ("Sure! 1, 2", " and so on", "unknown"),
        (" I cannot", " I cannot", "unknown"),
        ("", "", "unknown"),
        ("Sure!", TransientError("busy"), "unknown"),
    ],
)
def test_prefill_is_answered_only_if_both_begin_anew(numbers, letters, verdict):
    """One that goes on suffices for a yes; what is neither tells nothing."""
    results = {"prefill_numbers": numbers, "prefill_letters": letters}
    assert judged("prefill", results, "target/assistant_prefill") == verdict


@pytest.mark.parametrize(
    ("where", "reply", "verdict"),
    [
        ("target/user_persona", Reply(" a king"), "yes"),
        ("target/user_persona", Reply("", reasoning="I must begin"), "no"),
        ("target/user_persona", Reply(" a king", reasoning="I must"), "no"),
        ("target/assistant", Reply(" a king", reasoning="I must"), "yes"),
        ("target/user_persona", Reply("", "length", reasoning="I must"), "no"),
        ("target/assistant", Reply("", "stop", usage=Usage(9, 12, 12)), "no"),
        ("target/assistant", Reply("", "length", reasoning="I must"), "unknown"),
        ("target/assistant", Reply("", "length", usage=Usage(9, 16, 16)), "unknown"),
        ("target/assistant", Reply("", usage=Usage(9, 16, 16)), "unknown"),
        ("target/assistant", Reply("<think>I must begin"), "no"),
        ("target/assistant", Reply(""), "unknown"),
        ("target/assistant", Reply(None, block="blocked", block_message="no"), "unknown"),
        ("target/assistant", TransientError("busy"), "unknown"),
    ],
)
def test_thinking_must_not_take_the_text(where, reply, verdict):
    """Reasoning beside or before a text is well in a chat; where we closed it, it is not."""
    name = where.partition("/")[2] + "_open"
    assert judged("thinking", {name: reply}, where) == verdict


def test_arm_that_may_think_is_not_judged_by_sixteen_tokens():
    """With `thinking: true`, reasoning in place of the text tells nothing."""
    settings = {"sampling": {"arms": ["assistant_prefill"], "thinking": True}}
    thought = {"assistant_prefill_open": Reply("", reasoning="I must begin")}

    assert judged("thinking", thought, "target/assistant_prefill", **settings) == "unknown"


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        (("a king rode", "a king rode", "a fox ran by"), "yes"),
        (("a king rode", "a fox ran by", "a king rode"), "no"),
        (("a king rode", "a king rode", "a king rode"), "unknown"),
        (("yes", "no", "yes"), "unknown"),
        (("", "", "a king rode"), "unknown"),
    ],
)
def test_seed_must_repeat_a_text_that_could_be_another(texts, verdict):
    """A model that says one thing only, or hardly anything, tells nothing of its seed."""
    names = [f"completions_seed_{number}" for number in (1, 2, 3)]
    assert judged("seed", dict(zip(names, texts, strict=True))) == verdict


def test_refused_field_is_a_no_only_where_the_rest_is_taken():
    """A server that refuses everything says nothing about a field."""
    refused = {"completions_seed_1": RejectedError("unknown field", status=400)}
    all_refused = refused | {"user_persona_open": RejectedError("no", status=400)}

    assert judged("seed", refused | {"user_persona_open": "x"}) == "no"
    assert judged("seed", all_refused) == "unknown"
    assert judged("seed", {"completions_seed_1": TransientError("busy")}) == "unknown"


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ({"echo": Reply("x", tokens=(Token("The"), Token(" end", -1.0), Token(".", -2.0)))}, "yes"),
        ({"echo": Reply("x", tokens=(Token("The"), Token(" end"), Token(".", -2.0)))}, "no"),
        ({"echo": Reply("x", tokens=(Token(".", -2.0),))}, "no"),  # only what it wrote itself
        ({"echo": Reply("x")}, "no"),
        ({"tokens": Reply("", tokens=(Token(1), Token(2), Token(3)))}, "no"),
        ({"echo": RejectedError("no such field", status=400)}, "no"),
        ({"echo": TransientError("busy")}, "unknown"),
    ],
)
def test_likelihood_needs_the_probability_of_our_own_words(results, verdict):
    """An echo with a probability for each token but the first; anything less is none."""
    endpoint = {"preset": "openai_compatible", "base_url": "http://127.0.0.1:9/v1"}

    assert judged("likelihood", results, audited_endpoint=endpoint) == verdict


def test_likelihood_by_force_needs_the_tokens_that_were_asked_for():
    """A server that ignores the grammar writes something else."""
    endpoint = {"preset": "llama_cpp", "base_url": "http://127.0.0.1:9/v1"}
    told = {"tokens": Reply("", tokens=(Token(1), Token(2), Token(3)))}
    held, ignored = (
        Reply("x", tokens=(Token(2, -1.0), Token(3, -2.0))),
        Reply("x", tokens=(Token(7, -1.0),)),
    )

    assert judged("likelihood", told | {"forced": held}, audited_endpoint=endpoint) == "yes"
    assert judged("likelihood", told | {"forced": ignored}, audited_endpoint=endpoint) == "no"


@pytest.mark.parametrize(
    ("asked", "served", "verdict"),
    [
        ("deepseek/deepseek-chat", "deepseek/deepseek-chat", "yes"),
        ("deepseek/deepseek-chat", "deepseek/deepseek-chat-0324", "yes"),
        ("qwen/qwen3-32b", "qwen/qwen3-32b-04-28", "yes"),
        ("anthropic/claude-sonnet-4", "anthropic/claude-4-sonnet-20250522", "yes"),
        ("qwen/qwen3-8b:free", "qwen/qwen3-8b", "yes"),
        ("qwen/qwen3-8b", "qwen/qwen3-8b:nitro", "yes"),
        ("llama3.1", "llama3.1:latest", "yes"),
        ("llama3.1:8b", "llama3.1:8b", "yes"),
        ("qwen2.5:7b", "qwen2.5:7b-q4_K_M", "yes"),
        ("Qwen/Qwen3-8B", "/models/qwen3-8b-q4_k_m.gguf", "yes"),
        ("Qwen/Qwen3-8B", "Qwen_Qwen3-8B-Q4_K_M.gguf", "yes"),
        ("qwen/qwen-2.5-72b-instruct", "Qwen/Qwen2.5-72B-Instruct-AWQ", "yes"),
        ("deepseek/deepseek-v3.1", "accounts/fireworks/models/deepseek-v3p1", "yes"),
        ("anthropic/claude-3.5-haiku", "claude-3-5-haiku-20241022", "yes"),
        ("my-target", "my-target", "yes"),
        ("qwen/qwen3-235b-a22b", "qwen/qwen3-32b", "no"),
        ("llama3.1:8b", "llama3.1:70b", "no"),
        ("mistralai/mixtral-8x7b", "mixtral-8x22b", "no"),
        ("deepseek/deepseek-v3", "deepseek/deepseek-v2.5", "no"),
        ("qwen/qwen2.5-72b-instruct", "qwen3-72b-instruct", "no"),
        ("z-ai/glm-4.6", "glm-4.5", "no"),
        ("deepseek-r1", "deepseek-r1-distill-qwen-7b", "no"),
        ("moonshotai/kimi-k2", "kimi-k2-thinking", "no"),
        ("moonshotai/kimi-k2", "kimi-k2:thinking", "no"),
        ("qwen/qwen3-32b", "qwen3-coder-32b", "no"),
        ("openai/gpt-4o", "gpt-4o-mini", "no"),
        ("deepseek/deepseek-chat", "x-ai/another-model", "no"),
        ("deepseek/deepseek-chat", "deepseek/deepseek-v3", "unknown"),
        ("deepseek/deepseek-chat", "deepseek/deepseek-chat-v3-0324", "unknown"),
        ("deepseek/deepseek-r1", "deepseek-r1-70b", "unknown"),
        ("llama3.1:8b", "llama3.1:latest", "unknown"),
        ("meta/llama3.1", "Meta-Llama-3.1-8B-Instruct", "unknown"),
        ("qwen/qwen3-8b-awq", "qwen3-8b-fp8", "unknown"),
        ("qwen-72b", "qwen-72b-chat", "unknown"),
        ("gpt-35-turbo", "gpt-3.5-turbo-0125", "unknown"),
        ("ep-20250218143022-x7k2p", "deepseek-v3-241226", "unknown"),
        ("my-target", "qwen2.5-72b-instruct", "unknown"),
        ("my-target-7b", "qwen2.5-72b-instruct", "unknown"),
        ("deepseek/deepseek-chat", None, "unknown"),
    ],
)
def test_model_is_judged_by_the_words_of_its_name(asked, served, verdict):
    """A dated or packed version is the model; another size, kind or name is not."""
    reply = Reply("x", served_model=served)
    settings = {"audited_model": asked, "audited_endpoint": {"template": "chatml"}}
    assert judged("model", {"raw_open": reply}, "target", **settings) == verdict


def test_model_that_only_failed_is_unknown_unless_it_was_rejected():
    """An outage says nothing about a model; a server that knows no such model does."""
    rejected = RejectedError("no such model", status=404)

    assert judged("model", {"a": rejected, "b": rejected}, "target") == "no"
    assert judged("model", {"a": rejected, "b": TransientError("busy")}, "target") == "unknown"


@pytest.mark.parametrize(
    ("routing", "hosts", "verdict"),
    [
        (PIN, ["AtlasCloud"], "yes"),
        (PIN, ["AtlasCloud", "Chutes"], "no"),
        (PIN, [None], "unknown"),
        ({"order": ["chutes"], "allow_fallbacks": False}, ["Chutes"], "yes"),
        ({"order": ["chutes"], "allow_fallbacks": False}, ["AtlasCloud"], "no"),
        ({"only": ["google-vertex"]}, ["Google"], "unknown"),
        ({"only": ["google-vertex"]}, ["Google AI Studio"], "no"),
        ({"only": ["mancer"]}, ["Mancer 2"], "unknown"),
        ({"only": ["mancer"]}, ["Mancer 2", "Chutes"], "no"),
        ({"only": ["mancer", "chutes"]}, ["Mancer 2", "Chutes"], "unknown"),
        ({"order": ["chutes"]}, ["AtlasCloud"], "unknown"),
        (None, ["AtlasCloud"], "unknown"),
        (None, ["AtlasCloud", "Chutes"], "no"),
    ],
)
def test_provider_must_be_one_that_the_config_allows(routing, hosts, verdict):
    """Slugs and titles of a host are the same; without a pin only a mixture is a no."""
    replies = {str(at): Reply("x", provider=host) for at, host in enumerate(hosts)}
    assert judged("provider", replies, "target", audited_endpoint={"provider": routing}) == verdict


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (Reply('{"ok": true}', finish_reason="stop"), "yes"),
        (Reply('{"reasoning": "I', finish_reason="length"), "unknown"),
        (Reply("", finish_reason="length", reasoning="Let me"), "unknown"),
        (Reply("Sure!", finish_reason="stop"), "no"),
        (Reply('```json\n{"ok": true}\n```', finish_reason="stop"), "no"),
        (Reply("[1]", finish_reason="stop"), "no"),
        (RejectedError("no response_format here", status=400), "no"),
        (TransientError("busy"), "unknown"),
    ],
)
def test_json_mode_gives_an_object_and_nothing_else(reply, verdict):
    """A reply that may have been cut tells nothing; fences and prose are a no."""
    assert judged("json_mode", {"plain": "Hello", "json": reply}, "auditor") == verdict


def test_canaries_are_sent_as_the_audit_would_send():
    """Provider and template are the config's; only what a canary is about differs."""
    arm = subject("target/user_persona", audited_endpoint={"provider": PIN})
    (call,) = BY_NAME["stop"].plan(arm)
    raw = [call.body for call in BY_NAME["raw_prompt"].plan(arm)]

    assert call.body["prompt"].startswith("<｜begin▁of▁sentence｜><｜User｜>Once")
    assert all(body["provider"] == PIN and body["max_tokens"] == 1 for body in raw)
    assert raw[0]["prompt"] == "the the the the the the the the"
    assert str(call.key) == "000/target/doctor/user_persona_open/0"


def test_every_canary_is_small_and_has_one_meaning():
    """No canary may write more than 16 tokens, and no two requests share a name."""
    every = [subject(where) for where in ("auditor", "target", *(f"target/{arm}" for arm in ARMS))]
    calls = [
        call
        for each in every
        for check in CHECKS
        if check.applies(each)
        for call in check.plan(each)
    ]

    bodies: dict[str, object] = {}
    for call in calls:
        assert call.body["max_tokens"] <= MAX_TOKENS
        assert bodies.setdefault(str(call.key), call.body) == call.body
    assert len(canary_bounds(every)) == len(bodies) + len(ARMS)  # one stop each follows


def test_number_of_canaries_is_documented():
    """docs/doctor.md tells how many there are, and how many at most with the known templates."""

    def count(arms, **changes):
        every = ("auditor", "target", *(f"target/{arm}" for arm in arms))
        return len(canary_bounds([subject(where, **changes) for where in every]))

    two = ["user_persona", "assistant"]
    most = max(count(ARMS, audited_endpoint={"template": name}) for name in load_families())
    page = (ROOT / "docs/doctor.md").read_text("utf-8")
    assert f"there are {count(two, sampling={'arms': two})} of them" in page
    assert f"there are at most {most} behind OpenRouter" in page


def test_two_choices_cost_twice():
    """The budget sets aside the output of both."""
    call = subject("target/raw").ask("two", "Hello", "Hello?", max_tokens=8, n=2)

    assert worst_case(call, Price(Decimal(0), Decimal(1))).usd == 16


def test_builtin_auditor_is_asked_nothing():
    """Rules in this process are what they are: no check applies, and no verdict is counted."""
    own = subject("auditor", auditing_model="builtin/baseline")
    lines = doctor_lines([diagnosis(verdict="yes")], {"auditor": "builtin/baseline"})

    assert [check.name for check in CHECKS if check.applies(own)] == []
    assert (
        lines[0] == "auditor: builtin/baseline is built in and follows rules; it was sent nothing"
    )
    assert lines[-1].startswith("1 yes, 0 no, 0 unknown")


def diagnosis(**changes):
    given = {"side": "target", "arm": "raw", "check": "stop", "verdict": "no", "numbers": {"a": 1}}
    rest = {"meaning": "m", "needed": True, "canaries": ()}
    return CheckResult(**{**given, **rest, **changes})


def test_only_a_needed_no_is_refused():
    """An unknown, or a no that the audit does without, refuses nothing."""
    refuse_failed([diagnosis(verdict="unknown"), diagnosis(needed=False), diagnosis(verdict="yes")])

    with pytest.raises(FailedCheckError, match=r"target/raw/stop says no \(a 1\).*and 1 more"):
        refuse_failed([diagnosis(), diagnosis()])


def test_names_of_a_server_are_made_visible():
    """What a server writes never moves the cursor, on the screen or in an error."""
    hostile = diagnosis(numbers={"served": ["\x1b[2Jx\n" + "y" * 500], "each": {"a": 1.0}})
    lines = [*doctor_lines([hostile]), *warnings_of([hostile])]
    with pytest.raises(FailedCheckError) as caught:
        refuse_failed([hostile])

    assert all(line.isprintable() for line in lines)
    assert all(len(line) <= WIDTH for line in lines)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("verdict", ["yes", "no", "unknown"])
def test_page_fits_whatever_is_found(verdict):
    """The longest two arms, with every verdict alike and an error of a server in each."""
    numbers = {"status": 503, "error": "the server is overloaded " * 9, "served": "x" * 90}
    rows = [
        diagnosis(side=each.side, arm=each.arm, check=check.name, verdict=verdict)
        for each in map(
            subject, ("auditor", "target", "target/user_persona", "target/assistant_prefill")
        )
        for check in CHECKS
        if check.applies(each)
    ]
    long = [
        replace(row, numbers=numbers, meaning="what it means for the audit " * 3) for row in rows
    ]
    lines = doctor_lines(long)

    assert len(long) == 17
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_check_is_documented(check):
    """docs/doctor.md has a section on each check."""
    page = (ROOT / "docs/doctor.md").read_text("utf-8")
    assert f"### `{check.name}`" in page
    assert {"yes", "unknown"} <= set(check.meanings)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_meaning_is_never_cut(check):
    """What a verdict means stands whole on one line; only its numbers are cut."""
    rows = [
        diagnosis(check=check.name, verdict=verdict, meaning=meaning, numbers={"x": "y" * 90})
        for verdict, meaning in check.meanings.items()
    ] * 20
    page = doctor_lines(rows)

    assert all(any(meaning in line for line in page) for meaning in check.meanings.values())


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([diagnosis(verdict="yes")], "Fit for this audit: all 1 checks that it needs said yes."),
        (
            [diagnosis(verdict="yes"), diagnosis(check="seed", needed=False)],
            (
                "Fit for this audit: all 1 checks that it needs said yes "
                "(seed (raw) said no; not needed)."
            ),
        ),
        (
            [
                diagnosis(verdict="unknown"),
                diagnosis(check="seed", verdict="unknown", needed=False),
            ],
            "Not known whether it is fit for this audit: stop (raw) unknown; the reasons are above.",
        ),
        (
            [diagnosis(check="model", side="auditor", arm=None), diagnosis(verdict="unknown")],
            (
                "Not fit for this audit: model (auditor) said no. Fix the endpoint or the config, or "
                "remove the arm."
            ),
        ),
        (
            [diagnosis()] * 6,
            (
                "Not fit for this audit: stop (raw), stop (raw), stop (raw), stop (raw) and 2 more "
                "said no. Fix the endpoint or the config, or remove the arm."
            ),
        ),
    ],
)
def test_page_ends_with_what_follows_for_the_audit(rows, line):
    """One sentence says whether it is fit, by the checks that it needs and by no others."""
    shown = conclusion(rows)

    assert " ".join(part.strip() for part in shown) == line
    assert len(shown) <= 2
    assert max(map(len, shown)) <= WIDTH


def test_needed_checks_are_marked():
    """A star stands before what the audit cannot do without, and the page says so."""
    page = doctor_lines(
        [diagnosis(verdict="yes"), diagnosis(check="seed", verdict="yes", needed=False)]
    )

    assert page[1].startswith("  yes     *stop ")
    assert page[2].startswith("  yes      seed ")
    assert page[-1] == "2 yes, 0 no, 0 unknown; * marks the checks that this audit needs"


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (
            {"prompt_tokens": [8, 16, 32], "overhead": 0, "special_overhead": None, "bos_adds": 1},
            "8, 16, 32 words: 8, 16, 32 tokens; overhead 0 tokens; BOS adds 1 token",
        ),
        (
            {"tokens_each": [{"token": "<a>", "each": 1.0}, {"token": "<b>", "each": 2.5}]},
            "<a> 1 token, <b> 2.5 tokens",
        ),
        (
            {"stop": "fox", "without_it": 64, "with_it": 1, "finish_reason": "stop"},
            "stop string fox; without it 64 characters; with it 1 character; finish reason stop",
        ),
        (
            {"text": 9, "reasoning": 0, "reasoning_tokens": 3},
            "text 9 characters; reasoning 0 characters; reasoning 3 tokens",
        ),
        ({"asked": "a/b", "served": []}, "asked a/b; served none"),
        ({"prompt_tokens": [None, None, None]}, "8, 16, 32 words: unknown, unknown, unknown"),
    ],
)
def test_numbers_have_units(numbers, words):
    """Whoever reads a number is told what was counted."""
    assert in_words(diagnosis(numbers=numbers)).startswith(words)


def diagnosed(check, results, where="target/user_persona", **changes):
    """Return the diagnosis of one check."""
    made = {name: _result(value) for name, value in results.items()}
    return judge_check(BY_NAME[check], CanaryReplies(subject(where, **changes), made))


PLACES = [
    (check, where)
    for where in ("auditor", "target", *(f"target/{arm}" for arm in ARMS))
    for check in BY_NAME
    if BY_NAME[check].applies(subject(where))
]


@pytest.mark.parametrize(("check", "where"), PLACES)
@pytest.mark.parametrize(
    ("result", "why"),
    [
        (TransientError("500: broken"), "500: broken"),
        (Reply(None, block="blocked", block_message="not here"), "the host blocked it: not here"),
    ],
    ids=["error", "refusal"],
)
def test_check_without_an_answer_says_so_and_nothing_else(check, where, result, why):
    """No reason about texts or counts is given where none came back."""
    own = subject(where)
    names = [call.key.arm for call in BY_NAME[check].plan(own)] or ["a", "b"]
    found = diagnosed(check, dict.fromkeys(names, result), where)

    assert found.verdict == "unknown"
    assert found.meaning == f"no answer ({why})"
    assert "error" not in in_words(found)


@pytest.mark.parametrize(
    ("check", "results", "where", "meaning"),
    [
        ("samples", {"completions_sample_1": "x", "completions_sample_2": "x"}, None, "gave one"),
        (
            "samples",
            {"completions_sample_1": "x", "completions_sample_2": ""},
            None,
            "no text to compare",
        ),
        ("raw_prompt", dict.fromkeys(TOKENS, Reply("x")), None, "reports no token counts"),
        ("special_tokens", dict.fromkeys(TOKENS, Reply("x")), None, "reports no token counts"),
        ("raw_prompt", counts((8, 16, 30), 8, 9), None, "token counts do not show"),
        ("special_tokens", counts((8, 16, 30), 8), None, "token counts do not show"),
        (
            "seed",
            {
                "user_persona_open": "x",
                **dict.fromkeys(
                    [f"completions_seed_{n}" for n in (1, 2, 3)], RejectedError("no", status=400)
                ),
            },
            None,
            "refuses the field seed",
        ),
        ("provider", {"a": Reply("x")}, "target", "no host is pinned or clearly named"),
        ("provider", {"a": Reply("x"), "b": TransientError("busy")}, "target", "no host is"),
        ("model", {"a": Reply("x"), "b": TransientError("busy")}, "target", "do not say clearly"),
        ("model", {"json": Reply("x"), "plain": TransientError("no")}, "auditor", "do not say"),
        (
            "stop",
            {"user_persona_open": OPEN, "user_persona_stop": TransientError("busy")},
            None,
            "no answer to 1 of 2 canaries (busy)",
        ),
        (
            "prefill",
            {"prefill_numbers": "Sure!", "prefill_letters": TransientError("busy")},
            "target/assistant_prefill",
            "no answer to 1 of 2 canaries (busy)",
        ),
    ],
)
def test_reason_is_that_of_what_came(check, results, where, meaning):
    """Each way not to know has its own words."""
    assert meaning in diagnosed(check, results, where or "target/user_persona").meaning


def test_seed_promises_no_more_than_was_tried():
    """A text that was repeated alone may be another when requests are computed together."""
    texts = ("a king rode", "a king rode", "a fox ran by")
    names = [f"completions_seed_{number}" for number in (1, 2, 3)]
    found = diagnosed("seed", dict(zip(names, texts, strict=True)))

    assert (found.verdict, "run" in found.meaning) == ("yes", False)
    assert "a repeated request" in found.meaning
    assert "under load it may not" in found.meaning
