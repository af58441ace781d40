"""Whether a run that is to go on can: looked at before anything of it is touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.errors import ResumeMismatchError
from uncensoring_chinese_models.runner.replaying import replay
from uncensoring_chinese_models.runs import read_line, whole_lines

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import LoadedConfig
    from uncensoring_chinese_models.domain import Json


def as_begun(loaded: LoadedConfig, folder: Path) -> LoadedConfig:
    """Return the config with which a run goes on: seeds are counted as when it began.

    Raises:
        ResumeMismatchError: an older version made the run, and this one would send other requests.
    """
    journal = folder / "journal.jsonl"
    header = _header(journal.read_bytes()) if journal.is_file() else {}
    if header.get("package_version") in (None, __version__):
        return loaded
    recorded = header.get("config")
    sampling = recorded.get("sampling") if isinstance(recorded, dict) else None
    if isinstance(sampling, dict) and "seed_step" not in sampling:
        settings = loaded.settings
        own = settings.sampling.model_copy(update={"seed_step": 1})
        loaded = replace(loaded, settings=settings.model_copy(update={"sampling": own}))
    _refuse_other_requests(folder, header)
    return loaded


def _refuse_other_requests(folder: Path, header: Json) -> None:
    config, journal = ((folder / name).read_bytes() for name in ("config.yaml", "journal.jsonl"))
    if replay(config, journal).other_requests:
        raise ResumeMismatchError(
            f"{folder} was made by version {header['package_version']}, and this version "
            f"({__version__}) would send other requests; nothing was sent and nothing was changed. "
            "Resume with the version that made the run, or start a new run."
        )


def _header(content: bytes) -> Json:
    lines, _ = whole_lines(content)
    try:
        return read_line(lines[0], None) if lines else {}
    except ValueError:
        return {}  # opening the journal will say what is wrong with it
