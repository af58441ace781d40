"""Make the rows of each table from a run's files; `calls` makes those of the journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.audit import (
    UNKNOWN,
    count_received,
    host_blocks,
    rate_of_withholding,
    unknown_texts,
)
from uncensoring_chinese_models.domain import ASKING_ARM
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.exports.calls import call_rows
from uncensoring_chinese_models.exports.rows import (
    EvidenceRow,
    FactRow,
    HypothesisRow,
    Row,
    RunRow,
    SampleRow,
    row,
    text,
)
from uncensoring_chinese_models.measure import RunStances, StoredScores, choice_of

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.runs import RunFiles

LIKELIHOOD = "likelihood"
"""The value of `judge` and `arm` for results of likelihood, which samples nothing."""


def rows_of(table: str, files: RunFiles) -> tuple[Row, ...]:
    """Return the rows that a run has in a table.

    Raises:
        CorruptRunError: its files are malformed.
    """
    try:
        return tuple(_MAKERS[table](files))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as err:
        if isinstance(err, KeyError) and table not in _MAKERS:
            raise
        raise CorruptRunError(
            f"{text(files.name)} is malformed; its {table} cannot be read "
            f"({type(err).__name__}: {text(str(err))}). Leave this run out, or see what ucm verify "
            "says about it."
        ) from err


# --- runs ---------------------------------------------------------------------------------------


def _runs(files: RunFiles) -> Iterator[RunRow]:
    summary, settings, header = files.summary or {}, files.settings, files.header
    settings = {**header.get("config", {}), **settings}
    sampling = settings.get("sampling") or {}
    total = (summary.get("spend") or {}).get("total") or {}
    claims = summary.get("claims")
    stances = RunStances(files)
    found = [(s, stances.received(each, s)) for each in files.responses for s in each["samples"]]
    samples = [sample for sample, _ in found]
    # The user turn is sampled because refusals do not reach it: it would only thin them out.
    asked = [each for sample, each in found if sample["arm"] == ASKING_ARM]
    counts = count_received(asked or [each for _, each in found])
    withheld = rate_of_withholding(counts)
    refused = host_blocks(files.responses)
    yield row(
        RunRow,
        {
            "run": files.name,
            "status": files.status,
            "topic": settings.get("topic"),
            "auditor": settings.get("auditing_model"),
            "target": settings.get("audited_model"),
            "started_at": summary.get("started_at") or header.get("started_at"),
            "finished_at": summary.get("finished_at"),
            "package_version": (summary.get("versions") or {}).get("package")
            or header.get("package_version"),
            "iterations": len(files.responses),
            "arms": _joined(sampling.get("arms")),
            "samples_per_arm": sampling.get("n"),
            "temperature": sampling.get("temperature"),
            "seed": sampling.get("seed"),
            "languages": _joined(settings.get("languages")),
            "facts_file": settings.get("facts"),
            "samples": len(samples),
            "servers": _joined(
                list(dict.fromkeys(each.get("server") or UNKNOWN for each in samples))
            ),
            "counted_arm": ASKING_ARM if asked else "all",
            "judged_texts": withheld.n,
            "not_judged_texts": unknown_texts(counts),
            "withheld": withheld.successes,
            "withheld_rate": withheld.value,
            "withheld_low": withheld.low,
            "withheld_high": withheld.high,
            "blocked_by_host": sum(sum(each["kept_back"].values()) for each in refused),
            "unexplained": sum(each["unexplained"] for each in refused),
            "final_summary_by": summary.get("final_summary_by"),
            "claims": None if claims is None else len(claims),
            "supported_claims": None if claims is None else sum(c["supported"] for c in claims),
            **{name: total.get(name) for name in _SPENT},
            "summary_sha256": files.summary_sha256,
        },
    )


_SPENT = ("prompt_tokens", "completion_tokens", "cost_usd", "known_cost_usd")


def _joined(words: Any) -> str | None:
    return ", ".join(map(str, words)) if isinstance(words, list) else None


# --- hypotheses and their evidence --------------------------------------------------------------


def _hypotheses(files: RunFiles) -> Iterator[HypothesisRow]:
    held: dict[str, tuple[int, Json]] = {}
    first: dict[str, int] = {}
    for turn in files.turns:
        for hypothesis in turn["parsed"].get("hypotheses") or []:
            held[hypothesis["id"]] = turn["iteration"], hypothesis
            first.setdefault(hypothesis["id"], turn["iteration"])
    surviving = Counter(
        (each["hypothesis"], turn["iteration"], each["side"])
        for turn in files.turns
        for each in turn.get("evidence_check") or []
        if each["survives"]
    )
    claims = (files.summary or {}).get("claims") or []
    last = files.turns[-1]["iteration"] if files.turns else 0
    for name, (turn_number, hypothesis) in held.items():
        on_it = [claim for claim in claims if name in claim["hypothesis_ids"]]
        yield row(
            HypothesisRow,
            {
                **hypothesis,
                "run": files.name,
                "hypothesis": name,
                "text": hypothesis["hypothesis"],
                "first_turn": first[name],
                "last_turn": turn_number,
                "is_final": turn_number == last,
                "supporting": surviving[name, turn_number, "supporting"],
                "contradicting": surviving[name, turn_number, "contradicting"],
                "claims": len(on_it),
                "supported_claims": sum(claim["supported"] for claim in on_it),
            },
        )


def _evidence(files: RunFiles) -> Iterator[EvidenceRow]:
    cited: dict[tuple[Any, ...], list[tuple[int, Json]]] = {}
    for turn in files.turns:
        for each in turn.get("evidence_check") or []:
            key = tuple(each[name] for name in ("hypothesis", "side", "iteration", "excerpt"))
            cited.setdefault(key, []).append((turn["iteration"], each))
    last = files.turns[-1]["iteration"] if files.turns else 0
    texts = {
        (response["iteration"], sample["arm"], sample["index"]): sample["text"] or ""
        for response in files.responses
        for sample in response["samples"]
    }
    for found in cited.values():
        last_turn, check = found[-1]
        where = check["found_iteration"], check["arm"], check["sample"]
        of_sample = texts.get(where, "")
        yield row(
            EvidenceRow,
            {
                **check,
                "run": files.name,
                "start": _offset(of_sample, check["start"]),
                "end": _offset(of_sample, check["end"]),
                "first_turn": found[0][0],
                "last_turn": last_turn,
                "is_final": last_turn == last,
            },
        )


def _offset(of_sample: str, offset: int | None) -> int | None:
    """Return an offset of a text after its lone surrogates are spelled out."""
    return (
        None if offset is None else offset + len(text(of_sample[:offset])) - len(of_sample[:offset])
    )


# --- samples ------------------------------------------------------------------------------------


def _samples(files: RunFiles) -> Iterator[SampleRow]:
    strategies = {turn["iteration"]: turn["parsed"].get("prompt_strategy") for turn in files.turns}
    stances = RunStances(files)
    for response in files.responses:
        of_probe = {name: response.get(name) for name in ("iteration", "prompt_sent", "question")}
        of_probe["strategy"] = strategies.get(response["iteration"])
        for sample in response["samples"]:
            place = response["iteration"], sample["arm"], sample["index"]
            found = stances.judgements.get(place, {})
            stance = stances.of(response, sample)
            messages = sample.get("messages")
            yield row(
                SampleRow,
                {
                    **sample,
                    **(sample.get("usage") or {}),
                    **of_probe,
                    "run": files.name,
                    "sample": sample["index"],
                    "reply": sample["own_words"][
                        sample.get("reply_start") : sample.get("reply_end")
                    ],
                    "stance": stance.received.stance,
                    "stance_probability": stance.probability,
                    "stance_by": stance.by,
                    "messages": None if messages is None else strict_json.dumps(messages),
                    "fact": found.get("fact"),
                    "language": found.get("language"),
                    "mention": found.get("mention"),
                },
            )


# --- facts --------------------------------------------------------------------------------------


def _facts(files: RunFiles) -> Iterator[FactRow]:
    for judged in files.judged:
        matrix = judged.get("matrix") or {}
        verdicts = {
            (each["fact"], each["language"]): each["verdict"] for each in matrix.get("facts", ())
        }
        head = {"run": files.name, "topic": judged.get("topic"), "judge": _judge(judged)}
        for cell in matrix.get("cells", ()):
            verdict = verdicts.get((cell["fact"], cell["language"]))
            yield row(FactRow, {**cell["counts"], **_cell(cell), **head, "verdict": verdict})
    yield from _scores(files)


def _judge(judged: Json) -> str:
    models = [judge["model"] for judge in judged.get("judges", ())]
    return ", ".join(models) if models else str(judged.get("judge"))


def _cell(cell: Json) -> Json:
    rate, knowledge = cell["stated"], cell["knowledge"]
    difference = knowledge["difference"]
    return {
        **{name: cell[name] for name in ("fact", "language", "arm", "p_adjusted")},
        "shows_knowledge": cell["shows_knowledge"],
        "n": rate["n"],
        "stated_rate": rate["value"],
        "stated_low": rate["low"],
        "stated_high": rate["high"],
        "decoy_stated": max(cell["decoys"], default=0),
        "difference": difference["estimate"],
        "difference_low": difference["low"],
        "difference_high": difference["high"],
        "p_value": knowledge["p_value"],
    }


def _scores(files: RunFiles) -> Iterator[FactRow]:
    """Yield the results of likelihood, which needs no judge."""
    if files.likelihood is None:
        return
    try:
        stored = StoredScores.model_validate(files.likelihood)
    except ValidationError as err:
        raise ValueError("likelihood.json is garbled") from err
    for fact in stored.facts:
        choice = choice_of(fact)
        yield row(
            FactRow,
            {
                "run": files.name,
                "judge": LIKELIHOOD,
                "arm": LIKELIHOOD,
                "fact": choice.fact,
                "language": choice.language,
                "shows_knowledge": choice.shows_knowledge,
                "margin": choice.nearest,
            },
        )


_MAKERS: Mapping[str, Callable[[RunFiles], Iterator[Row]]] = {
    "runs": _runs,
    "hypotheses": _hypotheses,
    "evidence": _evidence,
    "samples": _samples,
    "calls": call_rows,
    "facts": _facts,
}
