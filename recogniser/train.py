"""Train the model: logistic regression on features that occur in replies of several families."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit, log_softmax, softmax

from uncensoring_chinese_models.text.stance.features import features_of
from uncensoring_chinese_models.text.stance.model import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from recogniser.data import Row
    from uncensoring_chinese_models.domain import Stance

MIN_ROWS = 4
"""Replies in which a feature occurs, at least."""
MIN_FAMILIES = 2
"""Families in which it occurs, at least: what one of them alone says is its manner, not a stance."""
PENALTY = 0.1
"""Of the square of the weights, as a share of the loss of the rows."""
KIND_PENALTY = 1.0
MAX_STEPS = 80
"""Steps of the search for the best weights."""
CALIBRATION = 4
"""Numbers of a calibration: constant, score, length, and score times length."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A model as it is trained."""

    columns: dict[str, int]
    """The place of each feature in the weights."""
    withheld: np.ndarray
    offset: float
    kinds: np.ndarray
    """A row for each kind."""
    kind_offsets: np.ndarray

    def scores(self, features: csr_matrix) -> np.ndarray:
        """Return the score for withholding of each row."""
        return np.asarray(features @ self.withheld + self.offset)

    def kinds_of(self, features: csr_matrix) -> list[Stance]:
        """Return the likeliest kind of each row."""
        scores = features @ self.kinds.T + self.kind_offsets
        return [KINDS[number] for number in scores.argmax(axis=1)]


def features_of_rows(rows: Iterable[Row]) -> list[frozenset[str]]:
    """Return the features of each row."""
    return [frozenset(features_of(row.reply, row.question)) for row in rows]


class Occurrences:
    """In how many rows of each family and topic part each feature occurs."""

    def __init__(self, rows: Sequence[Row], features: Sequence[frozenset[str]]) -> None:
        cells = sorted({(row.family, row.topic) for row in rows})
        place = {cell: number for number, cell in enumerate(cells)}
        counts: Counter[str] = Counter()
        for each in features:
            counts.update(each)
        self.names = sorted(name for name, count in counts.items() if count >= MIN_ROWS)
        self.columns = {name: number for number, name in enumerate(self.names)}
        self._cells = cells
        self.counts = np.zeros((len(cells), len(self.names)), dtype=np.int16)
        for row, each in zip(rows, features, strict=True):
            columns = [self.columns[name] for name in each if name in self.columns]
            self.counts[place[row.family, row.topic], columns] += 1

    def kept(self, keep: Callable[[str, int], bool]) -> list[str]:
        """Return the features that occur often enough in the families and topic parts to keep."""
        cells = [number for number, cell in enumerate(self._cells) if keep(*cell)]
        families = sorted({self._cells[number][0] for number in cells})
        rows = self.counts[cells].sum(axis=0)
        of_families = sum(
            self.counts[[n for n in cells if self._cells[n][0] == family]].any(axis=0).astype(int)
            for family in families
        )
        is_kept = (rows >= MIN_ROWS) & (of_families >= MIN_FAMILIES)
        return [self.names[number] for number in np.flatnonzero(is_kept)]


def matrix_of(features: Sequence[frozenset[str]], columns: dict[str, int]) -> csr_matrix:
    """Return a row for each set of features, of length at most 1."""
    indices: list[int] = []
    values: list[float] = []
    ends = [0]
    for each in features:
        known = [columns[name] for name in each if name in columns]
        indices += known
        values += [1 / sqrt(len(each))] * len(known)
        ends.append(len(indices))
    shape = (len(features), len(columns))
    return csr_matrix((np.array(values), np.array(indices, dtype=np.int32), np.array(ends)), shape)


def train(rows: Sequence[Row], features: csr_matrix, columns: dict[str, int]) -> Trained:
    """Return the model of rows whose features are given."""
    withheld, offset = fit_withheld(rows, features)
    read = [number for number, row in enumerate(rows) if row.kind is not None]
    kinds, kind_offsets = fit_kinds([rows[number] for number in read], features[read])
    return Trained(columns, withheld, offset, kinds, kind_offsets)


def weights_of(labels: Sequence[object]) -> np.ndarray:
    """Return a weight for each row so that each label has the same share; their mean is 1."""
    counts = Counter(labels)
    return np.array([len(labels) / (len(counts) * counts[label]) for label in labels])


def fit_withheld(rows: Sequence[Row], features: csr_matrix) -> tuple[np.ndarray, float]:
    """Return the weights for withholding, and the offset."""
    gold = np.array([row.is_withheld for row in rows], dtype=float)
    share = weights_of([(row.is_withheld, row.language) for row in rows])
    transposed = features.T.tocsr()

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        weights, offset = parameters[:-1], parameters[-1]
        scores = features @ weights + offset
        error = share * (expit(scores) - gold)
        value = share @ (np.logaddexp(0, scores) - gold * scores) + PENALTY / 2 * weights @ weights
        return value, np.append(transposed @ error + PENALTY * weights, error.sum())

    found = _least(loss, features.shape[1] + 1)
    return found[:-1], float(found[-1])


def fit_kinds(rows: Sequence[Row], features: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of weights for each kind of withholding, and their offsets."""
    gold = np.array([[row.kind == kind for kind in KINDS] for row in rows], dtype=float)
    share = weights_of([(row.kind, row.language) for row in rows])[:, None]
    transposed = features.T.tocsr()
    size = features.shape[1]

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        table = parameters.reshape(len(KINDS), size + 1)
        weights, offsets = table[:, :-1], table[:, -1]
        scores = features @ weights.T + offsets
        value = -(share * gold * log_softmax(scores, axis=1)).sum()
        error = share * (softmax(scores, axis=1) - gold)
        gradient = (transposed @ error).T + KIND_PENALTY * weights
        whole = np.hstack([gradient, error.sum(axis=0)[:, None]])
        return value + KIND_PENALTY / 2 * (weights**2).sum(), whole.ravel()

    found = _least(loss, len(KINDS) * (size + 1)).reshape(len(KINDS), size + 1)
    return found[:, :-1], found[:, -1]


def fit_calibration(scores: np.ndarray, sizes: np.ndarray, rows: Sequence[Row]) -> np.ndarray:
    """Return the four numbers that turn the score of a reply of some length into log-odds."""
    length = np.log(sizes)
    inputs = np.stack([np.ones_like(scores), scores, length, scores * length], axis=1)
    gold = np.array([row.is_withheld for row in rows], dtype=float)
    share = weights_of([(row.is_real, row.language) for row in rows])

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        odds = inputs @ parameters
        value = share @ (np.logaddexp(0, odds) - gold * odds)
        return value, inputs.T @ (share * (expit(odds) - gold))

    return _least(loss, CALIBRATION)


def _least(loss: Callable[[np.ndarray], tuple[float, np.ndarray]], size: int) -> np.ndarray:
    """Return the parameters at which the loss is least."""
    options = {"maxiter": MAX_STEPS}
    return np.asarray(
        minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options=options).x
    )
