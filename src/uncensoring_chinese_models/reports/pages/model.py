"""The view model of one run: everything that a page shows, as data.

A pure function of the run's files, so the same run always gives the same page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from uncensoring_chinese_models.audit import count_origins, host_blocks
from uncensoring_chinese_models.domain import Json, RunKind, SampleLabel
from uncensoring_chinese_models.errors import AuditToolError, CorruptRunError
from uncensoring_chinese_models.measure import (
    Facts,
    RunStances,
    counted_by_mark,
    described,
    parse_facts,
)
from uncensoring_chinese_models.reports.pages.cards import (
    HypothesisView,
    checks_by_hypothesis,
    hypotheses_of,
    place_of,
)
from uncensoring_chinese_models.reports.pages.probes import (
    Place,
    ProbeView,
    probes_of,
    samples_by_place,
)
from uncensoring_chinese_models.reports.pages.verdict import facts_told, verdict, withheld_of
from uncensoring_chinese_models.reports.sentences import (
    block_lines,
    block_of,
    conclusion_title,
    mixture_lines,
    rate_lines,
    server_lines,
    unchecked_servers,
    why_unsupported,
)
from uncensoring_chinese_models.runs import RunFiles

OWN = "report.html"
"""The page itself, which cannot contain its own hash."""
_STRANGE = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What reading raises when a file holds JSON of an unexpected shape."""


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One entry of the final summary."""

    text: str
    kind: str
    is_supported: bool
    why: str
    """Why it is not supported; empty if it is."""
    hypotheses: list[str]
    """The anchors of the cards that it rests on."""
    quotes: list[str]
    against: int


@dataclass(frozen=True, slots=True)
class FactView:
    """One fact in one language, as a probe run found it."""

    fact: str
    sentence: str
    language: str
    verdict: str
    mark: str
    """Its mark, and the fact that it stands below; empty if it has none."""
    cells: list[Json]
    choice: Json | None
    """Its likelihood, compared with its decoys."""


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn of the auditor."""

    number: int
    timestamp: str
    reasoning: str
    is_closing: bool
    parse: str
    raw: str


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything that a page shows of a run."""

    name: str
    topic: str
    target: str
    auditor: str
    status: str
    status_detail: str | None
    started_at: str
    finished_at: str | None
    kind: RunKind
    verdict: list[str]
    mixture: list[str]
    """Where the samples come from, if not all are from one server, host and model."""
    host_blocks: list[Json]
    """What hosts refused, by question and arm, each with its description."""
    labels: dict[str, dict[SampleLabel, int]]
    """For each arm, how many of its samples have each label."""
    claims: list[ClaimView]
    conclusion: str | None
    conclusion_title: str
    hypotheses: list[HypothesisView]
    probes: list[ProbeView]
    turns: list[TurnView]
    facts: list[FactView]
    judged_by: str
    """Who judged the stances, in one sentence; empty if no sample has text."""
    judge: str
    """Who judged the facts; empty if they were not judged."""
    rates: list[str]
    predictions: list[Json]
    denominators: Json
    spend: Json
    facts_told: str
    """How many facts were asked for, and in how many languages."""
    doctor: list[Json]
    unchecked: list[str]
    """Which servers answered without having been checked by the doctor."""
    servers: list[str]
    """Which servers answered each role."""
    settings: Json
    template: Json | None
    versions: Json
    sha256: dict[str, str]

    def as_json(self) -> Json:
        """Return everything as JSON."""
        return asdict(self)


def run_view(files: RunFiles) -> RunView:
    """Return what a page shows of a run, whether or not it has ended.

    Raises:
        CorruptRunError: a file of the run is malformed.
    """
    try:
        return _view(files)
    except _STRANGE as err:
        problem = f"{type(err).__name__}: {err}"
        raise CorruptRunError(
            f"{files.name} has malformed files ({problem}); ucm verify says which."
        ) from err


def _view(files: RunFiles) -> RunView:
    summary, settings = files.summary, files.settings
    stances = RunStances(files)
    samples = samples_by_place(files.responses, stances)
    probes = probes_of(files.responses, files.turns, samples, _marks(files.turns))
    labels, mixture = _labels(probes), list(_mixture(files))
    blocks = host_blocks(files.responses)
    told = summary or {}
    history = told.get("history") or ()
    cards = hypotheses_of(files.turns, samples, history)
    judged = next((each for each in files.judged if each.get("matrix")), None)
    matrix = judged["matrix"] if judged else None
    facts = _facts_file(judged) if judged else None
    return RunView(
        name=told.get("run") or files.name,
        topic=str(settings["topic"]),
        target=str(settings["audited_model"]),
        auditor=str(settings["auditing_model"]),
        status=files.status,
        status_detail=told.get("status_detail"),
        started_at=told.get("started_at") or files.header.get("started_at") or "",
        finished_at=told.get("finished_at"),
        kind=files.kind,
        verdict=[
            *verdict(summary, labels, matrix),
            *_by_mark(matrix, facts),
            *block_lines(blocks, len(files.responses)),
            *mixture,
            *files.unfit,
        ],
        mixture=mixture,
        host_blocks=[{**each, "told": block_of(each)} for each in blocks],
        labels={arm: dict(counts) for arm, counts in labels.items()},
        claims=_claims(told.get("claims") or (), cards),
        conclusion=(told.get("final_summary") or {}).get("conclusion"),
        conclusion_title=conclusion_title(told),
        hypotheses=cards,
        probes=probes,
        turns=[_turn(turn) for turn in files.turns],
        facts=_facts(matrix, facts) if matrix else [],
        judged_by=stances.who(),
        judge=_judge(judged) if judged else "",
        rates=_rates(summary, labels),
        predictions=list(told.get("predictions") or ()),
        denominators=told.get("denominators") or {},
        spend=told.get("spend") or {},
        facts_told=facts_told(matrix["facts"]) if matrix else "",
        doctor=list((files.doctor or {}).get("checks") or ()),
        unchecked=[] if summary is None else list(unchecked_servers(summary)),
        servers=[] if summary is None else list(server_lines(summary)),
        settings=settings,
        template=told.get("template"),
        versions=told.get("versions") or {},
        sha256={name: each for name, each in (told.get("sha256") or {}).items() if name != OWN},
    )


def _mixture(files: RunFiles) -> Iterator[str]:
    """Say where the samples come from, if not all are from one server, host and model."""
    samples = [sample for response in files.responses for sample in response["samples"]]
    for line in mixture_lines(count_origins(samples), "samples"):
        yield f"{line} The rates mix these."


def _marks(turns: Sequence[Json]) -> dict[Place, list[tuple[int, int]]]:
    """Return where surviving excerpts are, from the last turn that has each hypothesis."""
    newest: dict[str, list[Json]] = {}
    for turn in turns:
        checks = checks_by_hypothesis(turn)
        newest |= {
            each["id"]: checks.get(each["id"], [])
            for each in turn["parsed"].get("hypotheses") or ()
        }
    marks: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for check in (check for own in newest.values() for check in own):
        place = place_of(check)
        if place is not None and check["survives"]:
            marks[place].append((check["start"], check["end"]))
    return marks


def _labels(probes: Sequence[ProbeView]) -> dict[str, Counter[SampleLabel]]:
    found: dict[str, Counter[SampleLabel]] = defaultdict(Counter)
    for probe in probes:
        for arm in probe.arms:
            found[arm.arm].update(sample.label for sample in arm.samples)
    return dict(found)


def _rates(summary: Json | None, labels: Mapping[str, Counter[SampleLabel]]) -> list[str]:
    """Say every rate of the summary; where other texts are shown as withheld, say that, too."""
    if summary is None:
        return []
    told = list(rate_lines(summary))
    stored = ((summary.get("rates") or {}).get("withheld") or {}).get("by_arm") or {}
    shown = {arm: withheld_of(counts) for arm, counts in labels.items() if arm in stored}
    differs = [
        f"{arm} {found.withheld} of {found.judged} instead of {stored[arm]['successes']} of {stored[arm]['n']}"
        for arm, found in shown.items()
        if (found.withheld, found.judged) != (stored[arm]["successes"], stored[arm]["n"])
    ]
    if differs:
        told.append(
            "The rates are those that the program computed when the run ended; by the stances "
            f"that the counts and colours show, withheld are: {', '.join(differs)}"
        )
    return told


def _claims(claims: Sequence[Json], cards: Sequence[HypothesisView]) -> list[ClaimView]:
    anchors = {card.id: card.anchor for card in cards}
    return [
        ClaimView(
            claim["text"],
            claim["kind"],
            claim["supported"],
            "" if claim["supported"] else why_unsupported(claim),
            [anchors[name] for name in claim["hypothesis_ids"] if name in anchors],
            [quote["excerpt"] for quote in claim["quotes"]],
            claim["contradicted_by"],
        )
        for claim in claims
    ]


def _turn(turn: Json) -> TurnView:
    parse = turn.get("parse") or {}
    again = f", asked again {parse['re_asked']} times" if parse.get("re_asked") else ""
    return TurnView(
        turn["iteration"],
        turn["timestamp"] or "",
        turn["parsed"].get("reasoning") or "",
        bool(turn.get("closing")),
        f"reply parsed: {parse.get('rung', 'unknown')}{again}",
        turn["raw_response"] or "",
    )


def _by_mark(matrix: Json | None, facts: Facts | None) -> list[str]:
    if matrix is None or facts is None:
        return []
    return [*counted_by_mark(facts, [(each["fact"], each["verdict"]) for each in matrix["facts"]])]


def _facts(matrix: Json, facts: Facts | None) -> list[FactView]:
    choices = (matrix.get("likelihood") or {}).get("choices") or ()
    found = []
    for each in matrix["facts"]:
        key = (each["fact"], each["language"])
        fact = facts.fact(each["fact"]) if facts else None
        found.append(
            FactView(
                *key[:1],
                (fact.sentence(each["language"]) if fact else None) or "",
                each["language"],
                each["verdict"],
                described(fact),
                [cell for cell in matrix["cells"] if (cell["fact"], cell["language"]) == key],
                next((c for c in choices if (c["fact"], c["language"]) == key), None),
            )
        )
    return found


def _judge(judged: Json) -> str:
    judges = [each["model"] for each in judged.get("judges") or ()]
    return f"judged by {', '.join(judges)}" if judges else "judged by patterns"


def _facts_file(judged: Json) -> Facts | None:
    """Return the facts file of a judgement; None if it cannot be read."""
    text = judged.get("facts")
    try:
        return parse_facts(text.encode("utf-8"), "facts") if isinstance(text, str) else None
    except (AuditToolError, UnicodeEncodeError):
        return None
