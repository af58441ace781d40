"""What is untouched verifies, whatever became of the run; what is changed by one byte does not."""

from __future__ import annotations

import random

import pytest

from tests.varied_runs import KINDS, make_run
from uncensoring_chinese_models.verification import verify_run

RUNS = 200
CHANGES = 200
SHARES = 10


def contents(folder):
    """Return every file below a folder with its content."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_untouched_runs_verify(tmp_path, share):
    """200 of 200 runs hold: finished, resumed, interrupted, killed, ended by any failure."""
    kinds = set()
    for seed in range(share * RUNS // SHARES, (share + 1) * RUNS // SHARES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        made = make_run(folder, seed)
        before = contents(made.folder)

        result = verify_run(made.folder)

        assert [str(failure) for failure in result.failures] == [], (made.kind, seed)
        assert result.ended == (made.folder / "summary.json").exists()
        assert contents(made.folder) == before
        kinds.add(made.kind)
    assert kinds == set(KINDS)


def changed_bytes(run, count, rng):
    """Yield a file of the run that has one byte changed, each file in turn, and put it back."""
    files = [path for path in sorted(run.rglob("*")) if path.is_file()]
    assert len(files) <= count
    for number in range(count):
        path = files[number % len(files)]
        whole = path.read_bytes()
        position = rng.randrange(len(whole))
        other = rng.choice([byte for byte in range(256) if byte != whole[position]])
        path.write_bytes(whole[:position] + bytes([other]) + whole[position + 1 :])
        yield path.relative_to(run).as_posix(), position, other
        path.write_bytes(whole)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["finished", "crashed and resumed", "budget", "crashed"])
def test_changed_byte_is_caught_and_located(tmp_path, kind):
    """200 of 200 random one-byte changes are found, and no file is named but the changed one."""
    seed = KINDS.index(kind) + 40
    made = make_run(tmp_path, seed)
    assert made.kind == kind
    assert verify_run(made.folder).holds
    rng = random.Random(seed)  # noqa: S311 -- a trial, not a secret

    for file, position, byte in changed_bytes(made.folder, CHANGES // 4, rng):
        result = verify_run(made.folder)
        named = {failure.file for failure in result.failures}
        assert named == {file}, (position, byte, [str(one) for one in result.failures])

    assert verify_run(made.folder).holds
