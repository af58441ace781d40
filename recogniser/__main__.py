"""Train the model of stances, measure it, and write its weights and the tables.

    python -m recogniser --replies FILE

FILE holds labelled real replies, JSON lines packed with gzip or not; README.md says where they come
from. Every reply is judged by a model that was trained without its family and its topics; these
figures go into docs/measurements/stance.md. Then all replies train the model that the package ships.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recogniser.data import read_all, read_held_out
from recogniser.evaluate import Result, choose_limits, predict_apart
from recogniser.tables import tables
from recogniser.train import columns_of, features_of_rows, matrix_of, train
from uncensoring_chinese_models.text.stance.model import SCALE, predict, read_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recogniser.data import Row
    from recogniser.train import Trained
    from uncensoring_chinese_models.text.stance.model import Limits, Script

ROOT = Path(__file__).parent.parent
WEIGHTS = ROOT / "src/uncensoring_chinese_models/text/stance/weights.tsv"
PAGE = ROOT / "docs/measurements/stance.md"
BEGIN, END = "<!-- tables:begin -->", "<!-- tables:end -->"
MAX_FEATURES = 60_000
"""Features that the package ships: those that weigh most over all replies. Common words are among them: by
the share of words that it knows, the program tells whether it knows a language."""


def main(given: Sequence[str] | None = None) -> int:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--replies", type=Path, required=True, help="labelled real replies")
    options = parser.parse_args(given)
    rows = read_all(options.replies)
    print(f"{len(rows)} labelled replies", flush=True)
    results, calibration = predict_apart(rows, lambda line: print(line, flush=True))
    limits = choose_limits(results)
    trained = train_whole([row for row in rows if row.is_asked])
    written = "\n".join(lines_of(trained, calibration, limits)) + "\n"
    WEIGHTS.write_text(written, "utf-8")
    weights = read_weights(written)
    held_out = [
        Result(row, predict(row.reply, row.question, row.wording, weights))
        for row in read_held_out()
    ]
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n\n{tables(results, held_out, limits)}\n\n{END}{tail}", "utf-8")
    print(f"Wrote {WEIGHTS.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}.")
    return 0


def train_whole(rows: Sequence[Row]) -> Trained:
    """Return the model of all rows, with the features that weigh most."""
    features = features_of_rows(rows)
    columns = columns_of(features)
    whole = matrix_of(features, columns)
    trained = train(rows, whole, columns)
    weight = np.abs(trained.withheld) + np.abs(trained.kinds).max(axis=0) / 4
    weight *= np.sqrt(whole.getnnz(axis=0))
    names = list(columns)
    kept = sorted(names[n] for n in np.argsort(-weight)[:MAX_FEATURES])
    columns = {name: number for number, name in enumerate(kept)}
    return train(rows, matrix_of(features, columns), columns)


def lines_of(
    trained: Trained, calibration: np.ndarray, limits: dict[Script, Limits]
) -> Iterator[str]:
    """Yield the lines of the file of weights."""
    yield json.dumps(
        {
            "offset": round(trained.offset, 4),
            "kind_offsets": [round(float(each), 4) for each in trained.kind_offsets],
            "calibration": [round(float(each), 4) for each in calibration],
            "limits": {
                script: {name: round(value, 2) for name, value in each._asdict().items()}
                for script, each in limits.items()
            },
        }
    )
    table = np.rint(np.vstack([trained.withheld, trained.kinds]).T * SCALE).astype(int)
    for name, weights in zip(trained.columns, table, strict=True):
        if weights.any():
            yield "\t".join((name, *(str(each) if each else "" for each in weights)))


if __name__ == "__main__":
    sys.exit(main())
