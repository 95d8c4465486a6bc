from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from groupcf.classifiers import Classifier, TreeEnsembleScore
from groupcf.features import Feature, FeatureSpace, Kind

SIZES = ["low", "medium", "high"]


def _plain_space(n: int, scale: float = 1.0) -> FeatureSpace:
    """n numerical columns in their own unit."""
    return FeatureSpace(
        tuple(
            Feature(f"x{j}", Kind.NUMERICAL, lower=-10 * scale, upper=10 * scale) for j in range(n)
        )
    )


def _mixed(rng: np.random.Generator, rows: int, unit: float) -> tuple[pd.DataFrame, NDArray]:
    """A table with every kind of feature, and a target that depends on all of them."""
    frame = pd.DataFrame(
        {
            "income": rng.normal(3.0, 1.0, rows) * unit,
            "age": rng.integers(18, 70, rows),
            "member": rng.random(rows) < 0.5,
            "size": rng.choice(SIZES, rows),
            "grade": rng.choice([1, 2, 5], rows),
            "colour": rng.choice(["red", "green", "blue", "grey"], rows),
        }
    )
    score = (
        (frame["income"] / unit - 3)
        + (frame["age"] - 44) / 20
        + frame["member"]
        + (frame["size"] == "medium")
        - frame["grade"] / 3
        + (frame["colour"] == "red")
        + rng.normal(0, 0.5, rows)
    )
    return frame, np.where(score > score.median(), "yes", "no")


def _mixed_space(frame: pd.DataFrame) -> FeatureSpace:
    return FeatureSpace.from_frame(frame, orders={"size": SIZES, "grade": [1, 2, 5]})


def _valid_rows(rng: np.random.Generator, space: FeatureSpace, rows: int) -> NDArray[np.float64]:
    """Encoded rows drawn from all valid points of a space."""
    data = {}
    for f in space.features:
        if f.kind is Kind.NUMERICAL:
            data[f.name] = rng.uniform(f.lower, f.upper, rows)
        elif f.kind is Kind.INTEGER:
            data[f.name] = rng.integers(int(f.lower), int(f.upper) + 1, rows)
        else:
            data[f.name] = [f.categories[i] for i in rng.integers(0, len(f.categories), rows)]
    return space.encode(pd.DataFrame(data))


def _at_thresholds(
    rng: np.random.Generator, score: TreeEnsembleScore, X: NDArray[np.float64], skip: set[int]
) -> NDArray[np.float64]:
    """Rows of X with one column moved to a threshold, the next doubles, or the closest values."""
    out = [X[:0]]
    for column in range(score.n_columns):
        cuts = score.thresholds(column)
        if column in skip or not len(cuts):
            continue
        lower, upper = score.neighbours(column)
        values = np.concatenate(
            [cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), lower, upper]
        )
        rows = X[rng.integers(0, len(X), len(values))].copy()
        rows[:, column] = values
        out.append(rows)
    return np.concatenate(out)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small fits on many threads wait for each other, on a busy machine for minutes."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def plain_space() -> Callable[..., FeatureSpace]:
    return _plain_space


@pytest.fixture
def mixed() -> Callable[..., tuple[pd.DataFrame, NDArray]]:
    return _mixed


@pytest.fixture
def mixed_space() -> Callable[..., FeatureSpace]:
    return _mixed_space


@pytest.fixture
def valid_rows() -> Callable[..., NDArray[np.float64]]:
    return _valid_rows


@pytest.fixture
def check_trees() -> Callable[..., None]:
    """Compare a tree ensemble with its estimator at ordinary rows and around thresholds."""

    def check(classifier: Classifier, X: NDArray[np.float64], rng: np.random.Generator) -> None:
        score = classifier.score
        assert isinstance(score, TreeEnsembleScore)
        space = classifier.space
        onehot = {
            d
            for f, block in zip(space.features, space.blocks, strict=True)
            if f.kind is Kind.NOMINAL
            for d in range(block.start, block.stop)
        }
        rows = np.concatenate([X, _at_thresholds(rng, score, X, onehot)])
        assert classifier.score_error(rows) <= 1e-9
        own = classifier.probability(rows)
        tolerance = 1e-6 if score.single_precision else 1e-9
        np.testing.assert_allclose(
            score.link.probability(score.decision(rows)), own, rtol=0, atol=tolerance
        )

    return check
