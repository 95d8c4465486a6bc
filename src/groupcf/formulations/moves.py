"""What each instance may become, as variables of a model and encoded values in terms of them.

A continuous change is a bounded variable ``u``, a change of an integer feature a number of
steps ``n``, and any other discrete feature picks at most one of its options, ``z``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.constraints import feasible_box, options
from groupcf.features import Feature, Kind
from groupcf.problems import Problem

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

Floats = NDArray[np.float64]


class Moves:
    """Variables ``u``, ``n`` and ``z`` of a model, and what they mean.

    Parameters
    ----------
    model : ConcreteModel
        Takes the variables.
    problem : Problem
        One-for-one.

    Attributes
    ----------
    intervals, steps : dict
        (s, j) -> (low, high, unit): bounds on ``u`` or ``n``, encoded length of one unit.
    choices : dict
        (s, j) -> encoded values (positions of categories) of the options, own value first.
    options : list of (s, j, k)
        Option k of `choices`; k = 0 is the own value and has no variable.
    forced : set of (s, j)
        The own value is ruled out.
    places : list of (s, j)
        Wherever anything may change.
    impossible : list of str
        What no variable can make true; the model is infeasible if there is any.
    """

    def __init__(self, model: ConcreteModel, problem: Problem) -> None:
        import pyomo.environ as pyo

        self.model, self.space, self.X0 = model, problem.space, problem.instances
        self.power = 2 if problem.cost.gauge == "l2_squared" else 1
        self.lower, self.upper = feasible_box(self.space, self.X0, problem.within)
        self.intervals: dict[tuple[int, int], tuple[float, float, float]] = {}
        self.steps: dict[tuple[int, int], tuple[float, float, float]] = {}
        self.choices: dict[tuple[int, int], Floats] = {}
        self.options: list[tuple[int, int, int]] = []
        self.forced: set[tuple[int, int]] = set()
        self.impossible: list[str] = []
        for j, (feature, block) in enumerate(
            zip(self.space.features, self.space.blocks, strict=True)
        ):
            for s, x in enumerate(self.X0):
                self._list(s, j, feature, block, x)
        self.places = sorted({*self.intervals, *self.steps, *((s, j) for s, j, _ in self.options)})
        self.picks: dict[tuple[int, int], list[Any]] = {}
        model.u = pyo.Var(list(self.intervals), domain=pyo.Reals)
        model.n = pyo.Var(list(self.steps), domain=pyo.Integers)
        model.z = pyo.Var(self.options, domain=pyo.Binary)
        for variable, bounds in ((model.u, self.intervals), (model.n, self.steps)):
            for place, (low, high, _) in bounds.items():
                variable[place].setlb(low)
                variable[place].setub(high)
        for s, j, k in self.options:
            self.picks.setdefault((s, j), []).append(model.z[s, j, k])
        if problem.cost.gauge == "l1":
            model.size = pyo.Var([*self.intervals, *self.steps], domain=pyo.NonNegativeReals)
            model.sizes = pyo.ConstraintList()
            for place in model.size:
                model.sizes.add(model.size[place] >= self._length(*place))
                model.sizes.add(model.size[place] >= -self._length(*place))

    def _list(self, s: int, j: int, feature: Feature, block: slice, x: Floats) -> None:
        at = block.start
        least, most = self.lower[s, at], self.upper[s, at]
        own_ruled_out = feature.width == 1 and not least <= x[at] <= most
        if own_ruled_out:
            self.forced.add((s, j))
        if not feature.discrete or _counts(feature, x[at]):
            low, high = least - x[at], most - x[at]
            if feature.discrete:
                low, high = (
                    float(np.ceil(low * feature.scale - 1e-6)),
                    float(np.floor(high * feature.scale + 1e-6)),
                )
            if low > high:
                self.impossible.append(
                    f"instance {s}, feature {feature.name!r}: no value in its range"
                )
            elif low < high or own_ruled_out:
                unit = 1.0 / feature.scale if feature.discrete else 1.0
                (self.steps if feature.discrete else self.intervals)[s, j] = (low, high, unit)
            return
        nominal = feature.kind is Kind.NOMINAL
        values = options(feature, int(x[block].argmax()) if nominal else x[at])
        if not nominal:
            others = values[1:]
            values = np.append(values[:1], others[(others >= least) & (others <= most)])
        if own_ruled_out and len(values) == 1:
            self.impossible.append(f"instance {s}, feature {feature.name!r}: no value in its range")
        self.choices[s, j] = values
        self.options += [(s, j, k) for k in range(1, len(values))]

    def switch(self, place: tuple[int, int], on: Iterable[Any]) -> Iterable[Any]:
        """Return the rows that let a feature of an instance change only if binaries are 1."""
        on = list(on)
        if place in self.choices:
            chosen = sum(self.picks[place])
            yield from (chosen <= b for b in on)
            if place in self.forced:
                yield chosen == 1
            elif not on and len(self.picks[place]) > 1:
                yield chosen <= 1
            return
        low, high, _ = self.intervals.get(place) or self.steps[place]
        change = self._variable(*place)
        for b in on:
            yield change <= high * b
            yield change >= low * b

    def _variable(self, s: int, j: int) -> Any:
        return self.model.u[s, j] if (s, j) in self.intervals else self.model.n[s, j]

    def _length(self, s: int, j: int) -> Any:
        _, _, unit = self.intervals.get((s, j)) or self.steps[s, j]
        return unit * self._variable(s, j)

    def shift(self, s: int, column: int) -> Any:
        """Return x - x0 of one encoded column as a linear expression; 0.0 if it is constant."""
        j = int(self.space.owner[column])
        if (s, j) in self.intervals or (s, j) in self.steps:
            return self._length(s, j)
        values = self.choices.get((s, j))
        if values is None or len(values) == 1:
            return 0.0
        if self.space.features[j].kind is not Kind.NOMINAL:
            return sum(
                float(v - values[0]) * z
                for v, z in zip(values[1:], self.picks[s, j], strict=True)
                if v != values[0]
            )
        category = column - self.space.blocks[j].start
        if category == int(values[0]):
            return -sum(self.picks[s, j])
        here = np.flatnonzero(values[1:] == category)
        return self.picks[s, j][here[0]] if len(here) else 0.0

    def value(self, s: int, column: int) -> Any:
        """Return the encoded value as a linear expression."""
        return float(self.X0[s, column]) + self.shift(s, column)

    def values(self, s: int, column: int) -> Floats | None:
        """Return the encoded values that one column can take, ascending; None for a range."""
        j = int(self.space.owner[column])
        x = float(self.X0[s, column])
        if (s, j) in self.intervals:
            return None
        if (s, j) in self.steps:
            low, high, _ = self.steps[s, j]
            feature = self.space.features[j]
            raw = np.rint(x * feature.scale + feature.offset) + np.arange(low, high + 1)
            out = (raw - feature.offset) / feature.scale
            return np.where(np.arange(low, high + 1) == 0, x, out)
        values = self.choices.get((s, j))
        if values is None:
            return np.array([x])
        if self.space.features[j].kind is Kind.NOMINAL:
            category = column - self.space.blocks[j].start
            return np.unique((values == category).astype(float))
        return np.sort(values[1:] if (s, j) in self.forced else values)

    def distance(self, s: int) -> list[Any]:
        """Return the terms of the distance of one instance."""
        space, terms = self.space, []
        for place in self.places:
            if place[0] != s:
                continue
            j = place[1]
            if place in self.choices:
                values = self.choices[place]
                length = np.ones(len(values))
                if space.features[j].kind is not Kind.NOMINAL:
                    length = np.abs(values - values[0]) ** self.power
                terms += [
                    float(space.weights[j] * length[k + 1]) * z
                    for k, z in enumerate(self.picks[place])
                ]
            elif self.power == 1:
                terms.append(space.weights[j] * self.model.size[place])
            else:
                terms.append(space.weights[j] * self._length(*place) ** 2)
        return terms

    def read(self, off: set[tuple[int, int]], flips: NDArray[np.bool_]) -> Floats:
        """Return the encoded points of a solved model, shape (S, D).

        Discrete values are rounded to the values they stand for; places in `off` stay, and
        so do instances that do not flip.
        """
        X = self.X0.copy()

        def moves(s: int, j: int) -> bool:
            return bool(flips[s]) and ((s, j) not in off or (s, j) in self.forced)

        for (s, j), change in self.model.u.items():
            if moves(s, j):
                X[s, self.space.blocks[j].start] += change.value
        for (s, j), count in self.model.n.items():
            feature, at = self.space.features[j], self.space.blocks[j].start
            steps = np.rint(count.value)
            if moves(s, j) and steps != 0:
                raw = np.rint(X[s, at] * feature.scale + feature.offset) + steps
                X[s, at] = (raw - feature.offset) / feature.scale
        for (s, j, k), picked in self.model.z.items():
            if moves(s, j) and picked.value > 0.5:
                block, choice = self.space.blocks[j], self.choices[s, j][k]
                if self.space.features[j].kind is Kind.NOMINAL:
                    X[s, block] = 0.0
                    X[s, block.start + int(choice)] = 1.0
                else:
                    X[s, block.start] = choice
        return np.where(flips[:, None], np.clip(X, self.lower, self.upper), X)


def _counts(feature: Feature, own: float) -> bool:
    """Whether a change of a discrete feature is a whole number of equal steps."""
    raw = own * feature.scale + feature.offset
    return (
        feature.kind is Kind.INTEGER and feature.allowed is None and abs(raw - np.rint(raw)) <= 1e-6
    )
