"""The one reader of a run: scores, judgements, pages, studies, the viewer and exports use it.

A run may still be going, may be a bundle, and may be a stranger's: no link out of its folder is
followed, and a file that cannot be read is named. Whether the files are true is for `verify` to say.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import parse_mapping
from uncensoring_chinese_models.errors import CorruptRunError, RunStoreError
from uncensoring_chinese_models.runs.chain import parse_header
from uncensoring_chinese_models.runs.store import RunStore
from uncensoring_chinese_models.runs.untrusted import read_run_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uncensoring_chinese_models.domain import Json, RunKind
    from uncensoring_chinese_models.runs.untrusted import RunTree

_OWN = re.compile(r"(summary|doctor|likelihood|(auditor_turns|audited_responses)/[0-9]+)\.json")
"""The JSON files of a run; what else lies in its folder is not read."""
_UNUSABLE = re.compile(r"auditor_turns/([0-9]{1,9})\.failed-([0-9]{1,9})\.json")
"""The files of replies that could not be used: the iteration, and which of its replies."""
JUDGEMENT = re.compile(r"(?P<topic>[A-Za-z0-9_-]+)(?P<judges>\.judges)?\.json")
"""The names of judgements: of the patterns by a facts file, and of the judges."""
LABELS = (".labels.key.json", ".labels.json", ".labels.csv")
"""How the names of a sheet's key, of what the sheet says of raters, and of the sheet end."""
MAX_JSON_BYTES = 1 << 25
"""Max size of one JSON file that is parsed; those of a run of 20 iterations have some kilobytes."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """One run: its summary if it has ended, and every turn and response that is there."""

    name: str
    config: Json
    """The mapping of config.yaml, without defaults."""
    summary: Json | None
    turns: tuple[Json, ...]
    """The accepted turns of the auditor."""
    responses: tuple[Json, ...]
    doctor: Json | None = None
    likelihood: Json | None = None
    judged: tuple[Json, ...] = ()
    """The judgements of `ucm judge`, by facts file; those of judges come before those of patterns."""
    unfit: tuple[str, ...] = ()
    """Which judgements do not fit this run and are left out, and why; one sentence for each."""
    journal: bytes = b""
    header: Json = field(default_factory=dict)
    """The first line of the journal; empty if there is none yet."""
    folder: Path | None = None
    """Where it lies; None for an archive."""
    summary_sha256: str | None = None
    """Of summary.json as it is stored."""
    unusable: tuple[Json, ...] = ()
    """The auditor's replies that were not accepted as turns, in their order."""

    @property
    def ended(self) -> Json:
        """The summary of a run that has ended.

        Raises:
            RunStoreError: it has not.
        """
        if self.summary is None:
            raise RunStoreError(f"{self.name} has no summary.json: the run has not ended.")
        return self.summary

    @property
    def settings(self) -> Json:
        """Every setting with its default, once the run has ended; before, what the config says."""
        return self.config if self.summary is None else dict(self.summary["config"])

    @property
    def kind(self) -> RunKind:
        """`audit`, or `probe` for a run that asked for the facts of a file, one by one."""
        written = self.header.get("kind") or (self.summary or {}).get("kind")
        return "probe" if written == "probe" else "audit"

    @property
    def status(self) -> str:
        """How it ended, or that it has not."""
        return "unfinished" if self.summary is None else str(self.summary["status"])


def read_run(path: Path) -> RunFiles:
    """Read a run directory or a bundle.

    Raises:
        RunStoreError: it is not a run, or a run of another format.
        CorruptRunError: a file of it is not JSON, or not what a run writes there.
    """
    tree = read_run_tree(path)
    is_folder = path.is_dir()
    name = path.resolve().name if is_folder else path.stem
    return parse_run(name, tree.files, tree.judged, path if is_folder else None)


def read_finished_run(folder: Path) -> RunFiles:
    """Read the directory of a finished run, and check that its files are those it wrote.

    Raises:
        RunStoreError: it is not a run directory, is of another format, or has not finished.
        CorruptRunError: its files are not those that its summary lists.
    """
    store = RunStore.existing(folder)
    if not store.is_finished:
        raise RunStoreError(
            f"{folder} holds no summary.json: the run has not ended. Finish it with "
            f"ucm audit {folder / 'config.yaml'} --resume {folder}, then try again."
        )
    run = read_run(folder)
    if not isinstance(run.ended.get("sha256"), dict):
        raise CorruptRunError(f"{folder / 'summary.json'} is not what a run writes.")
    store.check_hashes(run.ended)
    return run


def parse_run(
    name: str,
    files: Mapping[str, bytes],
    beside: RunTree | None = None,
    folder: Path | None = None,
) -> RunFiles:
    """Return what the bytes of a run's files, and of the judgements beside it, hold.

    Raises:
        CorruptRunError: a file is not JSON, or not what a run writes there; or the journal does not
            begin with its header.
    """
    found = {
        path: _parsed(f"{name}/{path}", content)
        for path, content in files.items()
        if _OWN.fullmatch(path) or _UNUSABLE.fullmatch(path)
    }
    summary = found.get("summary.json")
    if summary is not None and not isinstance(summary.get("config"), dict):
        raise CorruptRunError(f"{name}/summary.json is not what a run writes: it has no config.")
    journal = files.get("journal.jsonl", b"")
    header = parse_header(journal)
    if not header and b"\n" in journal:
        raise CorruptRunError(
            f"{name}/journal.jsonl does not begin with a header that this version can read; "
            "ucm verify says what is wrong with it."
        )
    digest = None if summary is None else hashlib.sha256(files["summary.json"]).hexdigest()
    judged, unfit = ((), ()) if beside is None else _judged(beside, digest)
    return RunFiles(
        name,
        parse_mapping(files.get("config.yaml", b"{}"), f"{name}/config.yaml"),
        summary,
        _numbered(found, "auditor_turns"),
        _numbered(found, "audited_responses"),
        found.get("doctor.json"),
        found.get("likelihood.json"),
        judged,
        unfit,
        journal,
        header,
        folder,
        digest,
        _unusable(found),
    )


# --- the judgements beside a run ----------------------------------------------------------------


def is_judged_file(name: str) -> bool:
    """Tell whether `ucm judge` or `ucm label` writes a file of this name beside a run."""
    is_ours = JUDGEMENT.fullmatch(name) or ("/" not in name and name.endswith(LABELS))
    return bool(is_ours) or name in ("journal.jsonl", "report.html")


def judged_sha256(judgement: Json) -> str | None:
    """Return the sha256 of the facts file whose text a judgement holds; None if it holds none."""
    text = judgement.get("facts")
    if not isinstance(text, str):
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _judged(beside: RunTree, summary: str | None) -> tuple[tuple[Json, ...], tuple[str, ...]]:
    """Return the judgements that fit a run, those of judges first, since they look closer.

    Also return which do not fit it, and why. The verdicts themselves are not derived again here.
    """
    found: dict[str, Json] = {}
    unfit = []
    for name in sorted(filter(JUDGEMENT.fullmatch, beside.files)):
        told = _parsed(beside.name + name, beside.files[name])
        topic, _, judges = name.removesuffix(".json").partition(".")
        problem = _misfit(told, summary)
        if not problem and judges:
            patterns = found.get(f"{topic}.json", told)
            if patterns["facts_sha256"] != told["facts_sha256"]:
                problem = f"was made by another facts file than {topic}.json"
        if problem:
            unfit.append(f"{name} does not fit this run and is left out: it {problem}.")
        else:
            found[name] = told
    names = sorted(found, key=lambda name: (not name.endswith(".judges.json"), name))
    return tuple(found[name] for name in names), tuple(unfit)


def _misfit(told: Json, summary: str | None) -> str:
    """Return why a judgement is not one of the run with this summary; empty if it may be one."""
    if summary is None:
        return "judges a finished run, and this one has no summary.json"
    if told.get("summary_sha256") != summary:
        return "judges another run, or another state of this one (summary.json has another sha256)"
    if judged_sha256(told) is None or told.get("facts_sha256") != judged_sha256(told):
        return "does not hold the text of the facts file that it names"
    return ""


def _numbered(found: Mapping[str, Json], folder: str) -> tuple[Json, ...]:
    """Return the files of a folder in the order of their numbers, each iteration once."""
    paths = [PurePosixPath(path) for path in found if path.startswith(f"{folder}/")]
    own = [path for path in paths if path.stem.isdigit()]
    own.sort(key=lambda path: (len(path.stem), path.stem))
    iterations = [found[str(path)].get("iteration") for path in own]
    if len(iterations) != len(set(map(str, iterations))):
        raise CorruptRunError(f"{folder} holds two files of one iteration.")
    return tuple(found[str(path)] for path in own)


def _unusable(found: Mapping[str, Json]) -> tuple[Json, ...]:
    """Return the replies that could not be used, in the order of their numbers."""
    matches = [match for path in found if (match := _UNUSABLE.fullmatch(path))]
    matches.sort(key=lambda match: (int(match[1]), int(match[2])))
    return tuple(found[match[0]] for match in matches)


def _parsed(name: str, content: bytes) -> Json:
    if len(content) > MAX_JSON_BYTES:
        raise CorruptRunError(
            f"{name} is larger than {MAX_JSON_BYTES >> 20} MB, which no run writes; it was not read."
        )
    try:
        data = strict_json.loads(content)
    except (ValueError, RecursionError) as err:
        raise CorruptRunError(f"{name} cannot be read ({err}).") from err
    if not isinstance(data, dict):
        raise CorruptRunError(f"{name} is not what a run writes: it does not hold a JSON object.")
    return data
