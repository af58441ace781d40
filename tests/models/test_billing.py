"""The cap holds, and the books never say less than a provider billed, over the wire and resumes."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.provider import FAULTS, Model
from tests.provider.fault import Fault
from tests.running import PINNED, asked, both, endpoint, run_over
from tests.support import audited_provider
from uncensoring_chinese_models.config.settings import Budget
from uncensoring_chinese_models.errors import ConfigError, FatalError
from uncensoring_chinese_models.models.budget import BudgetMeter
from uncensoring_chinese_models.runs.journal import Journal
from uncensoring_chinese_models.verify import verify_run

pytestmark = pytest.mark.wire

MODELS = (
    Model("anthropic/claude-sonnet-4", "0.000001", "0.000002", 200_000),
    Model("deepseek/deepseek-chat", "0.00001", "0.0001", 163_840),
)
"""The target is dear, so that what it bills decides."""
SMALL: dict[str, Any] = {
    "auditor_sampling": {"max_tokens": 1000},
    "sampling": {"max_tokens": 100, "n": 4},
    "max_iterations": 9,
    "max_failed_iterations": 9,
}
CHEAP = {"input_usd_per_million": 1, "output_usd_per_million": 2}
DEAR = {"input_usd_per_million": 10, "output_usd_per_million": 100}


def priced(provider):
    """Return both endpoints with the prices of `MODELS`."""
    target = endpoint(provider, provider=PINNED, price=DEAR)
    return {"auditing_endpoint": endpoint(provider, price=CHEAP), "audited_endpoint": target}


@contextmanager
def billing(**settings):
    """Return a provider with these prices."""
    with audited_provider() as provider:
        provider.models = settings.pop("models", MODELS)
        for name, value in settings.items():
            setattr(provider, name, value)
        yield provider


def booked(folder):
    """Return what the journal says was spent, as a resumed run counts it."""
    journal = Journal.open(folder / "journal.jsonl", lambda: "2026-01-02T03:04:05Z")
    journal.close()
    budget = BudgetMeter(Budget())
    budget.charge_past(journal.attempts)
    return budget


# --- answers that cannot be used, and say what they cost -------------------------------------------


ODD: dict[str, Fault] = {
    "blank": FAULTS["empty_cost_alone"],
    "no choice": FAULTS["choices_cost_alone"],
    "no text": FAULTS["text_number_cost_alone"],
    "error with a cost": Fault(
        name="error_with_cost",
        about="",
        status=429,
        billed=True,
        body=lambda scene: {
            "error": {"code": 429},
            "usage": {"cost": scene.reply["usage"]["cost"]},
        },
    ),
    "error after words in another form": Fault(
        name="error_after_delta",
        about="",
        billed=True,
        body=lambda scene: {
            "error": {"code": 429},
            "choices": [{"index": 0}, {"delta": {"content": "It began"}}],
        },
    ),
    "error whose last usage has the cost": Fault(
        name="error_with_usages",
        about="",
        status=429,
        billed=True,
        body=lambda scene: {
            "error": {"code": 429},
            "usage": [{"prompt_tokens": 1, "cost": 0}] * 19 + [scene.reply["usage"]],
        },
    ),
    "silent 500": replace(FAULTS["500"], billed=True),
    "silent 502 inside 200": replace(FAULTS["200_error_502"], billed=True),
    "silent error without a code": replace(FAULTS["200_error_code_null"], billed=True),
}


@pytest.mark.parametrize("fault", ODD.values(), ids=ODD)
def test_useless_answers_are_charged_what_they_cost(tmp_path, fault):
    """However often an answer is useless, what the provider bills for it stays under the cap."""
    with billing() as provider:
        provider.fail(fault, api="completions", times=None)
        ran = run_over(
            tmp_path, provider, **both(provider, price=None), **SMALL, budget={"max_usd": 0.4}
        )

    assert ran.status == "budget"
    assert provider.count("completions") > 4
    assert provider.billed_usd <= Decimal("0.4")
    assert booked(ran.folder).spent_usd >= provider.billed_usd
    total = ran.summary["spend"]["total"]
    counted = total["known_cost_usd"] + total["fruitless_attempts"]["maybe_billed_usd"]
    assert counted >= float(provider.billed_usd) - 1e-9


@pytest.mark.parametrize("fault", ODD.values(), ids=ODD)
def test_useless_answers_are_charged_their_tokens(tmp_path, fault):
    """A cap in tokens holds as well: tokens that are not stated count at their maximum."""
    with billing() as provider:
        provider.fail(fault, api="completions", times=None)
        ran = run_over(
            tmp_path, provider, **both(provider, price=None), **SMALL, budget={"max_tokens": 60_000}
        )

    assert ran.status == "budget"
    assert provider.billed_tokens <= 60_000
    assert booked(ran.folder).spent_tokens >= provider.billed_tokens


# --- prices that are known late, or not at all -----------------------------------------------------


def interrupted(tmp_path, provider, **settings):
    """Run until the auditor's fourth request is refused."""
    provider.fail("402", api="chat", times=1, after=3)
    ran = run_over(tmp_path, provider, **SMALL, **settings)
    assert type(ran.error) is FatalError
    return ran


@pytest.mark.parametrize("late", ["from the list", "from the config"])
@pytest.mark.parametrize("shape", [None, "usage_missing", "json_truncated", "close_before_headers"])
def test_calls_made_before_the_price_was_known_count(tmp_path, late, shape):
    """A run that learns its prices on resume charges what it had sent before at these prices."""
    with billing(report_cost=False) as provider:
        provider.fail("404", api="models", times=2)
        if shape is not None:
            provider.fail(shape, api="completions", times=5, billed=True)
        stopped = interrupted(tmp_path, provider, **both(provider, price=None))
        before = provider.billed_usd
        assert before > Decimal("0.05")
        sides = both(provider, price=None) if late == "from the list" else priced(provider)
        ran = run_over(
            tmp_path,
            provider,
            resume=stopped.folder,
            **SMALL,
            **sides,
            budget={"max_usd": 0.4},
        )

    assert ran.status == "budget"
    assert before < provider.billed_usd <= Decimal("0.4")
    assert booked(ran.folder).spent_usd >= provider.billed_usd
    total = ran.summary["spend"]["total"]
    if shape != "usage_missing":
        assert total["calls_without_cost"] == 0
        counted = total["known_cost_usd"] + total["fruitless_attempts"]["maybe_billed_usd"]
        assert counted >= float(provider.billed_usd) - 1e-9
    else:
        assert total["calls_without_cost"] == 5
        assert total["cost_usd"] is None
    assert verify_run(ran.folder).holds


def test_price_that_rises_leaves_past_calls_as_they_were_charged(tmp_path):
    """What was charged at the price of its time is not charged again at a higher one."""
    dearer = [replace(model, completion_usd="0.01") for model in MODELS]
    with billing(report_cost=False) as provider:
        stopped = interrupted(tmp_path, provider, **both(provider, price=None))
        before = booked(stopped.folder).spent_usd
        assert before == provider.billed_usd
        provider.models = dearer
        settings = {**SMALL, **both(provider, price=None), "max_iterations": 9}
        provider.fail("402", api="chat", times=1)
        again = run_over(tmp_path, provider, resume=stopped.folder, **settings)

    assert type(again.error) is FatalError
    assert booked(again.folder).spent_usd == before == provider.billed_usd


def test_price_learnt_late_stays_as_it_was_first_learnt(tmp_path):
    """A call is priced once: at the first price that was known for it."""
    dearer = [replace(model, prompt_usd="1", completion_usd="1") for model in MODELS]
    with billing(report_cost=False) as provider:
        provider.fail("404", api="models", times=2)
        stopped = interrupted(tmp_path, provider, **both(provider, price=None))
        billed = provider.billed_usd
        assert booked(stopped.folder).spent_usd == 0
        for models in (MODELS, dearer):
            provider.models = models
            provider.fail("402", api="chat", times=1)
            run_over(
                tmp_path, provider, resume=stopped.folder, **SMALL, **both(provider, price=None)
            )
            assert booked(stopped.folder).spent_usd == billed


def test_price_that_is_no_longer_known_keeps_what_was_reserved(tmp_path):
    """A lost call stays charged at what was reserved for it when its price was known."""
    with billing(report_cost=False) as provider:
        provider.fail("json_truncated", api="completions", times=5, billed=True)
        stopped = interrupted(tmp_path, provider, **both(provider, price=None))
        before = booked(stopped.folder).spent_usd
        provider.models = ()
        provider.fail("402", api="chat", times=1)
        run_over(tmp_path, provider, resume=stopped.folder, **SMALL, **both(provider, price=None))

    assert booked(stopped.folder).spent_usd == before >= provider.billed_usd


def test_unknown_price_of_past_calls_at_another_server_is_refused_under_a_cap(tmp_path):
    """The price of the new server says nothing about what the old one billed."""
    with billing(report_cost=False, models=()) as dear, billing() as cheap:
        stopped = interrupted(tmp_path, dear, **both(dear, price=None))
        journal = (stopped.folder / "journal.jsonl").read_bytes()
        settings = {**SMALL, **both(cheap, price=None)}
        ran = run_over(tmp_path, cheap, resume=stopped.folder, **settings, budget={"max_usd": 5})

        assert type(ran.error) is ConfigError
        assert f"at {dear.base_url}" in str(ran.error)
        assert "budget.max_tokens" in str(ran.error)
        assert [each for each in cheap.requests if each.method == "POST"] == []
        assert (stopped.folder / "journal.jsonl").read_bytes() == journal
        # As the message says: with the old address and its price, the run goes on.
        old = priced(dear)
        dear.fail("402", api="chat", times=1)
        run_over(tmp_path, dear, resume=stopped.folder, **SMALL, **old, budget={"max_usd": 5})
        ran = run_over(tmp_path, cheap, resume=stopped.folder, **settings, budget={"max_usd": 5})

    assert ran.status == "max_iterations"
    assert booked(ran.folder).spent_usd >= dear.billed_usd + cheap.billed_usd


def test_cap_without_any_price_is_refused_before_anything_is_sent(tmp_path):
    """A cap in USD cannot be held without prices, even if each reply were to state its cost."""
    with billing(models=()) as provider:
        ran = run_over(
            tmp_path, provider, **SMALL, **both(provider, price=None), budget={"max_usd": 5}
        )

    assert type(ran.error) is ConfigError
    assert "add price: {input_usd_per_million" in str(ran.error)
    assert asked(provider, "auditor") + asked(provider, "target") == []


def test_other_server_is_charged_its_own_price(tmp_path):
    """Each call counts at the price of the server that it went to."""
    dearer = [replace(model, prompt_usd="0.0001", completion_usd="0.0002") for model in MODELS]
    with (
        billing(report_cost=False) as one,
        billing(report_cost=False, models=dearer) as other,
    ):
        stopped = interrupted(tmp_path, one, **both(one, price=None))
        ran = run_over(
            tmp_path,
            other,
            resume=stopped.folder,
            **SMALL,
            **both(other, price=None),
            budget={"max_usd": 4},
        )

    billed = one.billed_usd + other.billed_usd
    assert one.billed_usd < billed <= 4
    assert booked(ran.folder).spent_usd >= billed


# --- keys of one's own, and tokens that only the total counts ---------------------------------------


def test_key_of_ones_own_is_charged_what_the_model_provider_bills(tmp_path):
    """With a key of one's own, OpenRouter's cost is its fee; the model's provider bills the rest."""

    def byok(ask, reply):
        cost = reply["usage"]["cost"]
        reply["usage"] |= {
            "cost": cost * 0.05,
            "is_byok": True,
            "cost_details": {"upstream_inference_cost": cost},
        }
        return reply

    with billing(amend=byok) as provider:
        ran = run_over(tmp_path, provider, **both(provider, price=None))

    assert endpoint(provider)["preset"] == "openrouter"
    assert ran.summary["spend"]["total"]["cost_usd"] == pytest.approx(
        float(provider.billed_usd) * 1.05
    )
