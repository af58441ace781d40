"""Train the model: logistic regression on the features of replies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, diags_array
from scipy.special import expit, logsumexp

from uncensoring_chinese_models.text.stance.features import features_of
from uncensoring_chinese_models.text.stance.model import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recogniser.data import Row
    from uncensoring_chinese_models.domain import Stance

MIN_ROWS = 4
"""Replies in which a feature occurs, at least."""
PENALTY = 0.02
"""Of the square of the weights, as a share of the loss of the rows."""
RARITY = 1.25
"""Power of the logarithm of how rare a run of words is, by which the penalty lets it weigh more."""
SIGNALS = ("L:", "W:", "R:")
"""Beginnings of the features that are no runs of words: length, wording, what is repeated."""
SIGNAL_SCALE = 8.0
"""What a signal may weigh, as a run that occurs in one of 200 replies may."""
KIND_PENALTY = 1.0
MAX_STEPS = 20
"""Steps of the search for the best weights; about twelve are enough."""
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
    return [frozenset(features_of(row.reply, row.question, row.wording)) for row in rows]


def columns_of(features: Iterable[frozenset[str]]) -> dict[str, int]:
    """Return the place of each feature that occurs often enough."""
    counts = Counter(name for each in features for name in each)
    kept = sorted(name for name, count in counts.items() if count >= MIN_ROWS)
    return {name: number for number, name in enumerate(kept)}


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
    withheld, offset = fit_withheld(rows, features, scales_of(features, columns))
    read = [number for number, row in enumerate(rows) if row.kind is not None]
    kinds, kind_offsets = fit_kinds([rows[number] for number in read], features[read])
    return Trained(columns, withheld, offset, kinds, kind_offsets)


def weights_of(labels: Sequence[object]) -> np.ndarray:
    """Return a weight for each row so that each label has the same share; their mean is 1."""
    counts = Counter(labels)
    return np.array([len(labels) / (len(counts) * counts[label]) for label in labels])


def scales_of(features: csr_matrix, columns: dict[str, int]) -> np.ndarray:
    """Return how much each feature may weigh; the mean square of all that occur is 1."""
    counts = features.getnnz(axis=0)
    scales = np.log(features.shape[0] / np.maximum(counts, 1)) ** RARITY
    scales[[number for name, number in columns.items() if name.startswith(SIGNALS)]] = SIGNAL_SCALE
    return np.asarray(scales / np.sqrt(counts @ scales**2 / counts.sum()))


def fit_withheld(
    rows: Sequence[Row], features: csr_matrix, scales: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the weights for withholding, and the offset."""
    gold = np.array([[row.is_withheld] for row in rows], dtype=float)
    share = weights_of([(row.is_withheld, row.language) for row in rows])
    weights, offsets = _fit(features @ diags_array(scales), gold, share, PENALTY)
    return weights[0] * scales, float(offsets[0])


def fit_kinds(rows: Sequence[Row], features: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of weights for each kind of withholding, and their offsets."""
    gold = np.array([[row.kind == kind for kind in KINDS] for row in rows], dtype=float)
    share = weights_of([(row.kind, row.language) for row in rows])
    return _fit(features, gold, share, KIND_PENALTY)


def _fit(
    features: csr_matrix, gold: np.ndarray, share: np.ndarray, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of weights and an offset for each class, by logistic regression.

    `gold` has a column for each class. With one column, the other class is what is none of it: its
    score is zero.
    """
    used = np.flatnonzero(features.getnnz(axis=0))  # a column without rows gets no weight
    narrow = features[:, used]
    transposed = narrow.T.tocsr()
    classes = gold.shape[1]
    rest = np.zeros((len(gold), 1 if classes == 1 else 0))

    def split(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        table = parameters.reshape(classes, -1)
        return table[:, :-1], table[:, -1]

    def join(weights: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return np.hstack([weights, offsets[:, None]]).ravel()

    def scores_of(parameters: np.ndarray) -> np.ndarray:
        weights, offsets = split(parameters)
        return np.asarray(narrow @ weights.T + offsets)

    def back(error: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        weighted = share[:, None] * error
        weights, _ = split(parameters)
        return join((transposed @ weighted).T + penalty * weights, weighted.sum(axis=0))

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        scores = scores_of(parameters)
        whole = logsumexp(np.hstack([scores, rest]), axis=1)
        weights, _ = split(parameters)
        value = share @ (whole - (gold * scores).sum(axis=1)) + penalty / 2 * (weights**2).sum()
        return value, back(np.exp(scores - whole[:, None]) - gold, parameters)

    def curvature(parameters: np.ndarray, along: np.ndarray) -> np.ndarray:
        scores = scores_of(parameters)
        chances = np.exp(scores - logsumexp(np.hstack([scores, rest]), axis=1)[:, None])
        change = chances * scores_of(along)
        return back(change - chances * change.sum(axis=1)[:, None], along)

    start = np.zeros(classes * (len(used) + 1))
    options = {"maxiter": MAX_STEPS, "xtol": 1e-4}
    found = minimize(loss, start, jac=True, hessp=curvature, method="Newton-CG", options=options)
    weights, offsets = split(found.x)
    full = np.zeros((classes, features.shape[1]))
    full[:, used] = weights
    return full, offsets


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

    return np.asarray(minimize(loss, np.zeros(CALIBRATION), jac=True, method="BFGS").x)
