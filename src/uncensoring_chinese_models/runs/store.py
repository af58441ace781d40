"""The run directory: its name, and files that are never half-written.

Each JSON file is written under a temporary name, fsynced, renamed, and its folder fsynced. This
costs two fsyncs a file and needs a file system with atomic rename. `summary.json` comes last: its
presence means that the run finished.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.errors import (
    ConfigError,
    CorruptRunError,
    RunStoreError,
)
from uncensoring_chinese_models.runs.chain import JOURNAL, is_set_aside
from uncensoring_chinese_models.runs.lock import sync_folder

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json

_OF_AUDIT = re.compile(
    r"auditor_turns/[0-9]+(?:\.failed-[0-9]+)?\.json|audited_responses/[0-9]+\.json"
)
"""The files that an audit writes one by one."""
_ARTICLES = frozenset({"a", "an", "the"})
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
"""Errors of renaming a folder to a name that is taken."""


def run_name(model: str, topic: str, started_at: str) -> str:
    """Name a run: ``deepseek-deepseek-chat_tiananmen_2024-01-15T10-30-00``."""
    return f"{model_slug(model)}_{topic_slug(topic)}_{_stamp(started_at)}"


def doctor_name(model: str, started_at: str) -> str:
    """Name a record of the doctor: ``doctor_deepseek-deepseek-chat_2024-01-15T10-30-00``."""
    return f"doctor_{model_slug(model)}_{_stamp(started_at)}"


def _stamp(started_at: str) -> str:
    return started_at.removesuffix("Z").replace(":", "-")


def topic_slug(topic: str) -> str:
    """Name a topic in one safe word: the first that is not an article.

    ``"Tiananmen Square 1989 protests"`` → ``tiananmen``; ``"天安门广场抗议活动始末"`` → its first
    eight characters.
    """
    words = [word for word in re.findall(r"\w+", topic.lower()) if word not in _ARTICLES]
    word = words[0] if words else "topic"
    return _safe(word[:8] if not word.isascii() else word[:40]) or "topic"


def model_slug(model: str) -> str:
    """Name a model as a folder can: ``deepseek/deepseek-chat`` → ``deepseek-deepseek-chat``.

    A file is named without its folders, which concern nobody else.
    """
    if model.startswith("gguf/"):
        model = "gguf/" + model.rpartition("/")[2].removesuffix(".gguf")
    name = _safe(model.replace("/", "-").replace(":", "-"))
    return name.encode()[:80].decode("utf-8", "ignore") or "model"  # a name may have 255 bytes


def _safe(name: str) -> str:
    kept = re.sub(r"[^\w.-]", "-", name)
    kept = "".join(char for char in kept if char.isprintable())
    return kept.strip(".-_ ")


class RunStore:
    """One run directory. The process that has its journal open owns it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written: set[str] = set()

    @classmethod
    def create(cls, output_dir: Path, name: str, config: bytes) -> RunStore:
        """Make the directory of a new run, whole or not at all; a clash gets a suffix."""
        encoding = sys.getfilesystemencoding()  # a C locale has no Chinese names
        name = name.encode(encoding, "ignore").decode(encoding)
        draft = output_dir / f".{name}.{os.getpid()}.tmp"
        try:
            draft.mkdir(parents=True, exist_ok=True)
            (draft / JOURNAL).touch()  # so that a run has a journal to lock from the start
            replace_file(draft / "config.yaml", config)
            for suffix in ["", *(f"-{number}" for number in range(2, 1000))]:
                folder = output_dir / (name + suffix)
                if _renamed(draft, folder):
                    sync_folder(output_dir)
                    return cls(folder)
        except OSError as err:
            raise ConfigError(
                f"The output folder {output_dir} cannot be written: {err.strerror}; nothing was "
                "sent. Set output_dir to a folder that you may write to."
            ) from err
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        raise RunStoreError(f"{output_dir} holds too many runs named {name}.")

    @classmethod
    def existing(cls, folder: Path) -> RunStore:
        """Return the store of an existing run."""
        if not (folder / "config.yaml").is_file():
            raise RunStoreError(f"{folder} is not a run directory: it holds no config.yaml.")
        return cls(folder)

    @property
    def journal_path(self) -> Path:
        """The path of the journal."""
        return self.folder / JOURNAL

    @property
    def is_finished(self) -> bool:
        """True when the run wrote its summary."""
        return (self.folder / "summary.json").is_file()

    @property
    def has_results(self) -> bool:
        """True when the run wrote something that follows from answers."""
        return not {*self.contents()} <= {"config.yaml", JOURNAL}

    def read_summary(self) -> Json:
        """Return the summary of a finished run."""
        try:
            summary: Json = strict_json.loads(self._read("summary.json"))
        except (OSError, ValueError) as err:
            raise RunStoreError(
                f"{self.folder / 'summary.json'} cannot be read ({err}). It follows from the "
                "journal: remove it, then run the same command with --resume "
                f"{self.folder}; no answer is paid for again."
            ) from err
        return summary

    def write_turn(self, number: int, data: Json) -> None:
        """Write the auditor's turn of this number."""
        self._write_json(f"auditor_turns/{number:03d}.json", data)

    def write_unusable(self, iteration: int, number: int, data: Json) -> None:
        """Write a reply of the auditor that could not be used, beside the turns."""
        self._write_json(f"auditor_turns/{iteration:03d}.failed-{number}.json", data)

    def write_response(self, number: int, data: Json) -> None:
        """Write the target's response of this iteration."""
        self._write_json(f"audited_responses/{number:03d}.json", data)

    def write_doctor(self, data: Json) -> None:
        """Write the verdicts of the doctor."""
        self._write_json("doctor.json", data)

    def write_likelihood(self, data: Json) -> None:
        """Write the likelihoods of each fact and its decoys."""
        self._write_json("likelihood.json", data)

    def write_judged(self, name: str, data: Json) -> None:
        """Write judgements; the page of earlier ones is removed before."""
        content = _encoded(data)
        if not self._holds(name, content):
            self._remove_if_there("report.html")
            self._write(name, content)

    def remove_judged(self, name: str) -> None:
        """Remove judgements and their page, which a new judging is about to replace."""
        self._remove_if_there("report.html")
        self._remove_if_there(name)

    def write_labels(self, name: str, data: Json) -> None:
        """Write a file of labels, which the page of judgements does not show."""
        self._write_json(name, data)

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file that is not JSON."""
        self._write(name, content)

    def write_report(self, markdown: str) -> None:
        """Write the report as text."""
        self._write("report.md", markdown.encode("utf-8"))

    def write_page(self, html: str) -> None:
        """Write the report as a page."""
        self._write("report.html", html.encode("utf-8"))

    def write_summary(self, data: Json) -> None:
        """Write the summary, with the sha256 of every other file; nothing comes after it."""
        self._write_json("summary.json", {**data, "sha256": self.hashes()})

    def begin_again(self) -> None:
        """Remove the summary and the reports of a run that is resumed."""
        for name in ("summary.json", "report.html", "report.md", "doctor.json", "likelihood.json"):
            (self.folder / name).unlink(missing_ok=True)

    def prune(self) -> None:
        """Remove turns, unusable replies and responses of an earlier ending: what was not written now."""
        for name in self._names():
            if _OF_AUDIT.fullmatch(name) and name not in self._written:
                self._remove(name)

    def check_hashes(self, summary: Json) -> None:
        """Refuse a finished run whose files are not those that its summary lists.

        Raises:
            CorruptRunError: a file was changed, added or removed; it is named.
        """
        listed, found = summary.get("sha256", {}), self.hashes()
        for name in sorted({*listed, *found}):
            if listed.get(name) != found.get(name):
                raise CorruptRunError(
                    f"{self.folder / name} is not the file that summary.json lists: it was changed, "
                    "added or removed after the run had finished."
                )

    def hashes(self) -> dict[str, str]:
        """Return the sha256 of every file of the run but the summary, by relative path."""
        return {
            name: hashlib.sha256(content).hexdigest() for name, content in self.contents().items()
        }

    def contents(self) -> dict[str, bytes]:
        """Return the content of every file of the run but the summary, by relative path."""
        return {
            name: self._read(name)
            for name in self._names()
            if name != "summary.json"
            and not Path(name).name.startswith(".")
            and not is_set_aside(name)
        }

    def _write_json(self, name: str, data: Json) -> None:
        self._written.add(name)
        self._write(name, _encoded(data))

    def _remove_if_there(self, name: str) -> None:
        try:
            if name in self._names():
                self._remove(name)
        except OSError as err:
            raise RunStoreError(
                f"{self.folder / name} cannot be removed: {err.strerror}. Nothing else was "
                "changed; make the folder writable, and run the same command again."
            ) from err

    # --- access to the files: a store in memory replaces these ------------------------------------

    def _names(self) -> list[str]:
        """Return the relative path of every file, in order."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return [path.relative_to(self.folder).as_posix() for path in files]

    def _read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def _remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def _holds(self, name: str, content: bytes) -> bool:
        path = self.folder / name
        return path.is_file() and not path.is_symlink() and path.read_bytes() == content

    def _write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        try:
            if path.parent != self.folder:
                refuse_link(path.parent)
            if self._holds(name, content):
                return  # a replayed run derives the same bytes
            path.parent.mkdir(exist_ok=True)
            replace_file(path, content)
        except OSError as err:
            raise RunStoreError(
                f"{path} cannot be written: {err.strerror}. Every finished call is kept in "
                f"the journal; make room, then resume with --resume {self.folder}"
            ) from err


def _encoded(data: Json) -> bytes:
    """Return the bytes of a JSON file."""
    text = strict_json.dumps(data, ensure_ascii=False, indent=2)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form, but a JSON escape
        return strict_json.dumps(data, indent=2).encode("ascii") + b"\n"


def refuse_link(path: Path) -> None:
    """Refuse to write through a symbolic link: whoever made it chose its target.

    Raises:
        RunStoreError: it is one.
    """
    if path.is_symlink():
        raise RunStoreError(
            f"{path} is a symbolic link, and nothing is written through one; its target was not "
            "changed. Remove the link and run the same command again."
        )


def replace_file(path: Path, content: bytes) -> None:
    """Replace the content of a file as a whole; a link of this name is replaced, not followed."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def _renamed(draft: Path, folder: Path) -> bool:
    """Rename the folder; False when the name is taken, also by a process that was faster."""
    try:
        draft.rename(folder)
    except OSError as err:
        if err.errno not in _TAKEN:
            raise
        return False
    return True
