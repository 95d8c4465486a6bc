"""The classifier inside a model: f(x_s) reaches the target if y_s = 1 (models.md section 1).

Linear scores are one row. Additive trees have a binary for each distinct threshold that tells
on which side the instance is, so that all trees agree on it, and a variable for each leaf that
its box meets, one of each tree, open only on the side of the splits above it. A feature's
value follows its binaries between the last value that the fitted model sends left of a
threshold and the first that it sends right: no epsilon is chosen, and the constants are as
tight as they can be. ReLU networks have the usual big-M rows with interval bounds over the
instance's own box.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.classifiers.networks import NetworkScore
from groupcf.classifiers.scores import LinearScore
from groupcf.classifiers.trees import TreeEnsembleScore
from groupcf.formulations.moves import Moves
from groupcf.problems import Problem

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

Floats = NDArray[np.float64]


def add_score(
    model: ConcreteModel,
    problem: Problem,
    moves: Moves,
    margin: Floats,
    switches: Callable[[int, int], list[Any]],
) -> None:
    """Add the rows of the score of all instances.

    Parameters
    ----------
    model : ConcreteModel
        With the binaries ``y``; takes ``score`` and what a tree or a network needs.
    problem : Problem
    moves : Moves
    margin : ndarray of shape (S,)
        Added to the score that each instance must reach.
    switches : callable
        ``switches(s, j)``: the binaries that a change of feature j of instance s needs.
    """
    import pyomo.environ as pyo

    score = problem.score
    own = score.decision(problem.instances)
    if isinstance(score, LinearScore):
        exact, terms = 0.0, [_linear(score, moves, s) for s in range(len(own))]
    elif isinstance(score, TreeEnsembleScore):
        exact = score.rounding
        model.leaf = pyo.Var(pyo.Any, bounds=(0.0, 1.0), dense=False)
        model.beyond = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
        model.split = pyo.ConstraintList()
        model.chosen = [_Forest(model, score, moves, s, switches) for s in range(len(own))]
        terms = [f.value - float(x) for f, x in zip(model.chosen, own, strict=True)]
    else:
        assert isinstance(score, NetworkScore)
        exact = 0.0
        model.unit = pyo.Var(pyo.Any, domain=pyo.NonNegativeReals, dense=False)
        model.fires = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
        model.relu = pyo.ConstraintList()
        terms = [_network(model, score, moves, s) - float(x) for s, x in enumerate(own)]
    model.score = pyo.ConstraintList()
    deficit = problem.target + margin - own
    for s, gain in enumerate(terms):
        # an instance that stays has its own score, up to the rounding of a sum
        need = deficit[s] + exact
        if isinstance(gain, float):
            if gain < need and model.y[s].fixed:
                moves.impossible.append(f"instance {s}: no change of the score")
            elif gain < need:
                model.score.add(model.y[s] <= 0)
        elif deficit[s] > 0:
            model.score.add(gain >= -exact + (need + exact) * model.y[s])
        else:
            model.score.add(gain >= min(need, -exact))


def _linear(score: LinearScore, moves: Moves, s: int) -> Any:
    total: Any = 0.0
    for column in range(score.n_columns):
        shift, weight = moves.shift(s, column), float(score.weights[column])
        if weight != 0.0 and not isinstance(shift, float):
            total += weight * shift
    return total


class _Forest:
    """The trees at one instance: which side of every threshold, which leaf, the score."""

    def __init__(
        self,
        model: ConcreteModel,
        score: TreeEnsembleScore,
        moves: Moves,
        s: int,
        switches: Callable[[int, int], list[Any]],
    ) -> None:
        import pyomo.environ as pyo

        self.model, self.score, self.moves, self.s = model, score, moves, s
        self.switches = switches
        self.sides: dict[tuple[int, float], tuple[float | None, float | None]] = {}
        self.ladder: dict[int, list[tuple[float, float]]] = {}
        self.value: Any = float(score.base)
        for t, root in enumerate(score.roots):
            leaves = self._walk(int(root), [])
            model.split.add(pyo.quicksum(leaves) == 1)
            self.value += pyo.quicksum(
                float(score.weights[t] * score.value[leaf.index()[1]]) * leaf for leaf in leaves
            )
        for column, rungs in self.ladder.items():
            self._climb(column, sorted(set(rungs)))

    def _walk(self, node: int, path: list[tuple[int, float, bool]]) -> list[Any]:
        """Add the leaves below a node and the rows of its splits; return the leaves."""
        import pyomo.environ as pyo

        column, cut = int(self.score.column[node]), float(self.score.threshold[node])
        if column < 0:
            return [self.model.leaf[self.s, node]]
        low, high = self._range(column, path)
        left, right = self._sides(column, cut)
        below, above = [], []
        if left is not None and left >= low:
            below = self._walk(int(self.score.left[node]), [*path, (column, left, False)])
        if right is not None and right <= high:
            above = self._walk(int(self.score.right[node]), [*path, (column, right, True)])
        if below and above:
            assert left is not None
            assert right is not None
            self.ladder.setdefault(column, []).append((left, right))
            beyond = self.model.beyond[self.s, column, left]
            self.model.split.add(pyo.quicksum(below) <= 1 - beyond)
            self.model.split.add(pyo.quicksum(above) <= beyond)
        return below + above

    def _climb(self, column: int, rungs: list[tuple[float, float]]) -> None:
        """Tie the value to the binaries of its thresholds, in shares of the range."""
        import pyomo.environ as pyo

        self.ladder[column] = rungs
        least, most = self._range(column, [])
        size = most - least
        left, right = np.array(rungs).T
        on = [self.model.beyond[self.s, column, end] for end in left.tolist()]
        for a, b in pairwise(on):
            self.model.split.add(a >= b)
        # who does not change stays between the same thresholds, however near they are
        x0 = float(self.moves.X0[self.s, column])
        home = int(np.searchsorted(left, x0))
        for switch in self.switches(self.s, int(self.moves.space.owner[column])):
            if home < len(on):
                self.model.split.add(on[home] <= switch)
            if home > 0:
                self.model.split.add(on[home - 1] >= 1 - switch)
        share = (self.moves.value(self.s, column) - least) / size
        up = np.diff(np.append(left, most)) / size
        down = np.diff(np.append(least, right)) / size
        self.model.split.add(
            share
            <= float(left[0] - least) / size
            + pyo.quicksum(float(step) * b for step, b in zip(up, on, strict=True))
        )
        self.model.split.add(
            share >= pyo.quicksum(float(step) * b for step, b in zip(down, on, strict=True))
        )

    def _range(self, column: int, path: list[tuple[int, float, bool]]) -> tuple[float, float]:
        values = self.moves.values(self.s, column)
        if values is None:
            low = float(self.moves.lower[self.s, column])
            high = float(self.moves.upper[self.s, column])
        else:
            low, high = float(values[0]), float(values[-1])
        for c, end, above in path:
            if c == column:
                low, high = (max(low, end), high) if above else (low, min(high, end))
        return low, high

    def _sides(self, column: int, cut: float) -> tuple[float | None, float | None]:
        """Return the last value that goes left and the first that goes right, if any."""
        if not np.isfinite(cut):
            values = self._range(column, [])
            return (values[1], None) if cut > 0 else (None, values[0])
        if (column, cut) not in self.sides:
            self.sides[column, cut] = self._find_sides(column, cut)
        return self.sides[column, cut]

    def _find_sides(self, column: int, cut: float) -> tuple[float | None, float | None]:
        values = self.moves.values(self.s, column)
        if values is not None:
            at = int(np.searchsorted(values, cut, side="right"))
            return (
                float(values[at - 1]) if at > 0 else None,
                float(values[at]) if at < len(values) else None,
            )
        low, high = self._range(column, [])
        x0 = float(self.moves.X0[self.s, column])
        left = min(max(self.score.value_left_of(column, cut), low), high)
        right = max(min(self.score.value_right_of(column, cut), high), low)
        if low <= x0 <= min(cut, high):
            left = max(left, x0)
        elif max(cut, low) < x0 <= high:
            right = min(right, x0)
        return (left if left <= cut else None, right if right > cut else None)

    def snap(self, x: Floats) -> Floats:
        """Return a point moved to the chosen side of every threshold, within tolerance."""
        out = x.copy()
        for column, rungs in self.ladder.items():
            on = [self.model.beyond[self.s, column, left].value > 0.5 for left, _ in rungs]
            k = sum(on)
            if k > 0:
                out[column] = max(out[column], rungs[k - 1][1])
            if k < len(rungs):
                out[column] = min(out[column], rungs[k][0])
        return out


def _network(model: ConcreteModel, score: NetworkScore, moves: Moves, s: int) -> Any:
    """Add the units of a network at one instance; return its output."""
    import pyomo.environ as pyo

    low_x, high_x = np.minimum(moves.lower[s], moves.upper[s]), moves.upper[s]
    bounds = score.interval_bounds(low_x, high_x)
    layer: list[Any] = [moves.value(s, column) for column in range(score.n_columns)]
    for depth, (W, b) in enumerate(zip(score.weights, score.biases, strict=True)):
        sums = [
            float(b[i])
            + pyo.quicksum(float(W[k, i]) * h for k, h in enumerate(layer) if W[k, i] != 0.0)
            for i in range(W.shape[1])
        ]
        if depth == len(score.weights) - 1:
            return sums[0]
        under, over = bounds[depth]
        layer = []
        for i, z in enumerate(sums):
            if over[i] <= 0:
                layer.append(0.0)
            elif under[i] >= 0:
                layer.append(z)
            else:
                unit, on = model.unit[s, depth, i], model.fires[s, depth, i]
                model.relu.add(unit >= z)
                model.relu.add(unit <= z - float(under[i]) * (1 - on))
                model.relu.add(unit <= float(over[i]) * on)
                layer.append(unit)
    raise AssertionError("a network has a last layer")
