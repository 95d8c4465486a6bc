"""Linking constraints as rows of a model (models.md section 0, "Linking").

Euclidean distances from above are convex quadratic rows. Distances from below, and the cost
of the group that a fair cost is measured against, are nonconvex: quadratic rows for a solver
that takes them (SCIP), or sign binaries for ``l1``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from groupcf.features import Kind
from groupcf.formulations.moves import Moves
from groupcf.linking import (
    Apart,
    DistinctFeatures,
    FairCost,
    Linking,
    Lipschitz,
    Moments,
    SameValues,
    smallest_changes,
)
from groupcf.problems import Problem

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


NOTHING = 1e-6
"""Euclidean distances up to this are kept by linear rows for each column."""


def needs_changed(problem: Problem) -> bool:
    """Whether a constraint counts changed features, so that binaries ``xi`` are needed."""
    return any(isinstance(c, DistinctFeatures) for c in problem.linking)


def add_linking(model: ConcreteModel, problem: Problem, moves: Moves) -> None:
    """Add the rows of all linking constraints of a problem."""
    import pyomo.environ as pyo

    if not problem.linking:
        return
    model.linking = pyo.ConstraintList()
    model.part = pyo.Var(pyo.Any, domain=pyo.NonNegativeReals, dense=False)
    model.sign = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
    rows = _Rows(model, problem, moves)
    for constraint in problem.linking:
        rows.add[type(constraint)](constraint)


class _Rows:
    def __init__(self, model: ConcreteModel, problem: Problem, moves: Moves) -> None:
        self.model, self.problem, self.moves = model, problem, moves
        self.told: set[tuple[int, int]] = set()
        self.space, self.squared = problem.space, problem.cost.gauge == "l2_squared"
        self.add: dict[type[Linking], Callable[[Any], None]] = {
            Lipschitz: self._lipschitz,
            SameValues: self._same,
            Apart: self._apart,
            DistinctFeatures: self._distinct,
            Moments: self._moments,
            FairCost: self._fair,
        }

    def _row(self, left: Any, sense: str, right: Any) -> None:
        """Add a row; one without variables is dropped or makes the model infeasible."""
        difference = left - right
        if isinstance(difference, (int, float)):
            holds = {"<=": difference <= 1e-9, ">=": difference >= -1e-9}
            holds["=="] = abs(difference) <= 1e-9
            if not holds[sense]:
                self.moves.impossible.append(f"{left} {sense} {right}")
        elif sense == "==":
            self.model.linking.add(difference == 0)
        else:
            self.model.linking.add(difference <= 0 if sense == "<=" else difference >= 0)

    def _columns(self) -> list[tuple[int, float]]:
        """Return (column, weight in a distance); of a nominal feature's columns two differ."""
        owners = [self.space.features[j] for j in self.space.owner]
        halves = (0.5 if f.kind is Kind.NOMINAL else 1.0 for f in owners)
        return [(c, h * f.weight) for c, (h, f) in enumerate(zip(halves, owners, strict=True))]

    def _gaps(self, i: int, j: int) -> list[tuple[float, Any, float]]:
        """Return (weight, difference, largest difference) by column of two counterfactuals."""
        out, m = [], self.moves
        for c, weight in self._columns():
            gap = m.value(i, c) - m.value(j, c)
            widest = max(abs(m.upper[i, c] - m.lower[j, c]), abs(m.upper[j, c] - m.lower[i, c]))
            if not isinstance(gap, float) or gap != 0.0:
                out.append((weight, gap, float(widest)))
        return out

    def _size(self, expression: Any, widest: float, exact: bool) -> Any:
        """Return variables whose sum is the absolute value, at least or exactly."""
        if isinstance(expression, float):
            return abs(expression)
        key = len(self.model.part)
        plus, minus = self.model.part[key], self.model.part[key + 1]
        self.model.linking.add(plus - minus == expression)
        if exact:
            sign = self.model.sign[key]
            self.model.linking.add(plus <= widest * sign)
            self.model.linking.add(minus <= widest * (1 - sign))
        return plus + minus

    def _lipschitz(self, c: Lipschitz) -> None:
        X0, cost = self.problem.instances, self.problem.cost
        for i, j in combinations(range(len(X0)), 2):
            before = float(cost.apart(self.space, X0[i : i + 1], X0[j : j + 1])[0])
            self._distance(i, j, "<=", c.tau * before)

    def _distance(self, i: int, j: int, sense: str, length: float) -> None:
        """Add the row that a distance is at most or at least a length, in shares of it."""
        gaps = self._gaps(i, j)
        widest = sum(w * (m * m if self.squared else m) for w, _, m in gaps)
        reach = widest**0.5 if self.squared else widest
        if sense == "<=" and length >= reach:
            return
        if sense == ">=" and length > reach * (1 + 1e-9):
            self.moves.impossible.append(f"instances {i} and {j} cannot be {length:.6g} apart")
        elif not self.squared:
            exact = sense == ">="
            self._row(sum(w * self._size(gap, m, exact) for w, gap, m in gaps), sense, length)
        elif length <= NOTHING:
            # squares vanish in a solver's tolerance; all this loses is within the verifier's
            for w, gap, _ in gaps:
                self._row(gap, "<=", length / w**0.5)
                self._row(gap, ">=", -length / w**0.5)
        else:
            self._row(sum(w * (gap / length) ** 2 for w, gap, _ in gaps), sense, 1.0)

    def _same(self, c: SameValues) -> None:
        columns = np.flatnonzero(np.isin(self.space.owner, c.which(self.space)))
        for other in c.rows[1:]:
            for column in columns.tolist():
                self._row(
                    self.moves.value(c.rows[0], column), "==", self.moves.value(other, column)
                )

    def _apart(self, c: Apart) -> None:
        for i, j in combinations(c.rows, 2):
            self._distance(i, j, ">=", c.delta)

    def _distinct(self, c: DistinctFeatures) -> None:
        """Two sets differ where one has a feature and the other has not."""
        model, places = self.model, set(self.moves.places)
        self._truthful(c.rows)
        for i, k in combinations(c.rows, 2):
            differs = []
            for j in range(self.space.n_features):
                a = model.xi[i, j] if (i, j) in places else 0.0
                b = model.xi[k, j] if (k, j) in places else 0.0
                part = model.part[len(model.part)]
                self._row(part, "<=", a + b)
                self._row(part, "<=", 2 - a - b)
                differs.append(part)
            self._row(sum(differs), ">=", 1)

    def _truthful(self, rows: tuple[int, ...]) -> None:
        """Let binaries ``xi`` of some instances be 1 only where the feature really changes."""
        moves, smallest = self.moves, smallest_changes(self.space)
        for s, j in moves.places:
            if s not in rows or (s, j) in self.told:
                continue
            self.told.add((s, j))
            if (s, j) in moves.choices:
                self._row(sum(moves.picks[s, j]), ">=", self.model.xi[s, j])
                continue
            low, high, unit = moves.intervals.get((s, j)) or moves.steps[s, j]
            least = unit if (s, j) in moves.steps else smallest[j]
            shift = moves.shift(s, self.space.blocks[j].start)
            size = self._size(shift, max(high, -low) * unit, exact=True)
            self._row(size / float(least), ">=", self.model.xi[s, j])

    def _moments(self, c: Moments) -> None:
        at = c.members(self.problem.n_instances)
        for column in c.columns(self.space).tolist():
            drift = sum(self.moves.shift(s, column) for s in at)
            self._row(drift, "<=", c.eps * len(at))
            self._row(drift, ">=", -c.eps * len(at))

    def _fair(self, c: FairCost) -> None:
        self._row(
            self._mean_cost(c.group, exact=False),
            "<=",
            (1 + c.eps) * self._mean_cost(c.others, exact=True),
        )

    def _mean_cost(self, rows: tuple[int, ...], exact: bool) -> Any:
        total: Any = 0.0
        moves = self.moves
        if exact and self.problem.cost.lam_ind > 0:
            self._truthful(rows)
        for s in rows:
            if self.squared or not exact:
                total += sum(moves.distance(s))
            else:
                for c, weight in self._columns():
                    x0 = moves.X0[s, c]
                    widest = float(max(moves.upper[s, c] - x0, x0 - moves.lower[s, c]))
                    total += weight * self._size(moves.shift(s, c), widest, exact=True)
            if self.problem.cost.lam_ind > 0:
                mine = [self.model.xi[p] for p in self.moves.places if p[0] == s]
                total += self.problem.cost.lam_ind * sum(mine)
        return total / len(rows)
