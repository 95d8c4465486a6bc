"""Small random groups, and their clusters by plain enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from groupcf.classifiers import LinearScore, NetworkScore, as_score, train
from groupcf.features import Feature, FeatureSpace, Kind
from groupcf.problems import OneForMany, Problem

KINDS = ("linear", "network", "trees")


def _feature(rng, name, plain):
    which = rng.integers(4)
    limits = {}
    if not plain:
        limits = [{}, {}, {"actionable": False}, {"direction": "increasing"}][rng.integers(4)]
    if which == 0:
        return Feature(name, Kind.BINARY, categories=("no", "yes"), **limits)
    if which == 1:
        codes = tuple(np.sort(rng.choice(9, 3, replace=False)).astype(float))
        return Feature(name, Kind.ORDINAL, categories=("a", "b", "c"), codes=codes, **limits)
    if which == 2:
        allowed = None if plain or rng.random() < 0.5 else (0, 2)
        return Feature(name, Kind.INTEGER, 0, 2, scale=2.0, allowed=allowed, **limits)
    limits.pop("direction", None)
    allowed = None if plain or rng.random() < 0.5 else ("r", "g")
    return Feature(name, Kind.NOMINAL, categories=("r", "g", "b"), allowed=allowed, **limits)


def _values(feature):
    """Return all encoded blocks of a feature, whatever is allowed."""
    if feature.kind is Kind.NOMINAL:
        return list(np.eye(feature.width))
    free = Feature(
        feature.name,
        feature.kind,
        feature.lower,
        feature.upper,
        feature.categories,
        feature.codes,
        feature.offset,
        feature.scale,
    )
    return [np.array([v]) for v in free.values()]


def every_point(space):
    parts = product(*[_values(f) for f in space.features])
    return np.array([np.concatenate(p) for p in parts])


def _score(rng, kind, space, points):
    n = space.n_columns
    if kind == "linear":
        return LinearScore(rng.normal(size=n).round(2), 0.0)
    if kind == "network":
        sizes = [n, 3, 3, 1]
        return NetworkScore(
            tuple(rng.normal(size=s).round(2) for s in pairwise(sizes)),
            tuple(rng.normal(size=s).round(2) for s in sizes[1:]),
        )
    rows = points[rng.integers(len(points), size=60)]
    y = (rows @ rng.normal(size=n) + rng.normal(size=60) > 0).astype(int)
    y[:2] = 0, 1
    name = ("random_forest", "xgboost")[rng.integers(2)]
    return as_score(train(name, rows, y, n_estimators=7), space, positive=1)


def random_problem(seed, kind, *, max_rows=6, plain=False, n_features=None):
    """Return a small problem in which some points, seldom many, are of the wanted class."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6)) if n_features is None else n_features
    space = FeatureSpace(tuple(_feature(rng, f"f{j}", plain) for j in range(count)))
    points = every_point(space)
    score = _score(rng, kind, space, points)
    threshold = float(np.quantile(score.decision(points), rng.choice([0.3, 0.6, 0.9, 0.99])))
    rows = points[rng.integers(len(points), size=int(rng.integers(1, max_rows + 1)))]
    limit = int(rng.integers(0, count + 1))
    return Problem(space, score, rows, threshold - 1e-6, OneForMany(max_changed=limit))


@dataclass
class Enumerated:
    """All that plain enumeration says about a group."""

    members: np.ndarray  # clusters that no other contains, as sets of instances
    reachable: np.ndarray
    least: list
    optimum: int


def enumerate_clusters(problem):
    """Try every point with every set of features; nothing of the library's methods is used."""
    space, X0, limit = problem.space, problem.instances, problem.allocation.max_changed
    points = every_point(space)
    points = points[problem.score.decision(points) >= problem.target]
    S, P = len(X0), len(points)
    valid = np.ones((S, P), dtype=bool)
    if P:
        found = space.violations(np.repeat(X0, P, axis=0), np.tile(points, (S, 1)))
        for text in found:
            valid.ravel()[int(text.split(",")[0].removeprefix("row "))] = False
    changed = np.array([space.changed(X0, np.tile(p, (S, 1))) for p in points])
    changed = changed.reshape(P, S, space.n_features)
    least = []
    for s in range(S):
        counts = changed[valid[s], s].sum(axis=1) if P else []
        least.append(min(map(int, counts), default=None))
    reachable = np.array([k is not None and k <= limit for k in least])
    sets = set()
    for k in range(P):
        for freed in combinations(range(space.n_features), limit):
            held = np.setdiff1d(np.arange(space.n_features), freed)
            inside = valid[:, k] & ~changed[k][:, held].any(axis=1)
            if inside.any():
                sets.add(tuple(np.flatnonzero(inside)))
    largest = [t for t in sets if not any(set(t) < set(u) for u in sets)]
    members = np.zeros((len(largest), S), dtype=bool)
    for i, t in enumerate(largest):
        members[i, list(t)] = True
    optimum = 0
    while not _covers(members, reachable, optimum):
        optimum += 1
    return Enumerated(members, reachable, least, optimum)


def _covers(members, rows, count):
    return any(
        members[list(chosen)].any(axis=0)[rows].all() if chosen else not rows.any()
        for chosen in combinations(range(len(members)), count)
    )


@pytest.fixture(scope="session")
def small():
    """Return the generator of small problems and their enumeration."""
    return random_problem, enumerate_clusters


@pytest.fixture(scope="session")
def all_points():
    """Return the function that lists every point of a space."""
    return every_point
