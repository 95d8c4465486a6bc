"""Reference formulations of sparse one-for-many (models.md section 4).

The plain mixed-integer model with candidate counterfactuals, and the pricing model of column
generation, for linear, network and tree scores. A point takes one value of each feature
(binaries ``x``); a row that is assigned to it and differs in feature j needs that feature freed:
``z_s <= x[own value of s] + f_j``, which is ``d_j >= |x_j - x0_sj| z_s`` of one-hot vectors
without products.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groupcf.exact.pattern_models import LinearModel, NetworkModel, TreesModel
from groupcf.exact.pattern_pricing import Clusters, Duals, Priced
from groupcf.exact.sparse_group import Group
from groupcf.solution import Status

if TYPE_CHECKING:
    from pyomo.environ import Block, ConcreteModel

    from groupcf.solvers import SolveResult

_ATTEMPTS = 4


def build_milp(group: Group, count: int, margin: float = 0.0) -> ConcreteModel:
    """Build the plain model: choose among `count` candidates, assign every row to one.

    Parameters
    ----------
    group : Group
    count : int
        K, at least the number of clusters that are needed; the number of rows always is.
    margin : float
        Added to the score that a point must reach; makes up for a solver's tolerance.

    Returns
    -------
    ConcreteModel
        Blocks ``point[k]`` (values ``x``, freed features ``f``), assignments ``p[k, s]`` and
        ``use[k]``.
    """
    import pyomo.environ as pyo

    rows = range(group.search.n_rows)
    model = pyo.ConcreteModel("sparse one-for-many")
    model.use = pyo.Var(range(count), domain=pyo.Binary)
    model.p = pyo.Var(range(count), rows, domain=pyo.Binary)
    model.point = pyo.Block(range(count))
    for k in range(count):
        _point(model.point[k], group, margin)
        _cluster(model.point[k], group, [model.p[k, s] for s in rows])
    model.assigned = pyo.Constraint(
        rows, rule=lambda m, s: pyo.quicksum(m.p[k, s] for k in range(count)) == 1
    )
    model.used = pyo.Constraint(range(count), rows, rule=lambda m, k, s: m.p[k, s] <= m.use[k])
    model.order = pyo.Constraint(range(count - 1), rule=lambda m, k: m.use[k] >= m.use[k + 1])
    model.cost = pyo.Objective(expr=pyo.quicksum(model.use.values()), sense=pyo.minimize)
    return model


def build_pricing(group: Group, margin: float = 0.0) -> ConcreteModel:
    """Build the pricing model: one point, the rows it serves, the features it frees.

    Returns
    -------
    ConcreteModel
        Block ``point``, memberships ``z[s]``; the objective ``worth`` maximises the mutable
        parameter ``price[s]`` over the members.
    """
    import pyomo.environ as pyo

    rows = range(group.search.n_rows)
    model = pyo.ConcreteModel("pricing")
    model.z = pyo.Var(rows, domain=pyo.Binary)
    model.point = pyo.Block()
    _point(model.point, group, margin)
    _cluster(model.point, group, [model.z[s] for s in rows])
    model.price = pyo.Param(rows, mutable=True, initialize=0.0, domain=pyo.Reals)
    model.worth = pyo.Objective(
        expr=pyo.quicksum(model.price[s] * model.z[s] for s in rows), sense=pyo.maximize
    )
    model.other = pyo.ConstraintList()
    return model


# -- parts ---------------------------------------------------------------------------------


def _point(block: Block, group: Group, margin: float) -> None:
    """Add a point of the wanted class: one value of each feature, score at least the target."""
    import pyomo.environ as pyo

    start = group.table.start
    block.x = pyo.Var(range(int(start[-1])), domain=pyo.Binary)
    block.one_value = pyo.Constraint(
        range(group.table.n_features),
        rule=lambda b, j: pyo.quicksum(b.x[v] for v in range(start[j], start[j + 1])) == 1,
    )
    score = group.search.model
    if isinstance(score, LinearModel):
        value = score.base + _dot(score.gain, block.x)
    elif isinstance(score, NetworkModel):
        value = _network(block, score, start)
    else:
        value = _trees(block, score, start)
    if not isinstance(value, float):  # a constant score suffices: some point is of the class
        block.score = pyo.Constraint(expr=value >= group.search.target + margin)


def _dot(weights: NDArray[np.float64], x: Any) -> Any:
    import pyomo.environ as pyo

    return pyo.quicksum(float(w) * x[v] for v, w in enumerate(weights) if w != 0.0)


def _network(block: Block, score: NetworkModel, start: NDArray[np.int64]) -> Any:
    """Add the units of a ReLU network, big-M by interval bounds; return its output."""
    import pyomo.environ as pyo

    sizes = score.sizes.tolist()
    hidden = [(layer, i) for layer in range(len(sizes) - 1) for i in range(sizes[layer])]
    block.unit = pyo.Var(hidden, domain=pyo.NonNegativeReals)
    block.on = pyo.Var(hidden, domain=pyo.Binary)
    block.relu = pyo.ConstraintList()
    parts = np.split(score.first, start[1:-1], axis=1)
    low = sum(part.min(axis=1) for part in parts) + score.biases[: sizes[0]]
    high = sum(part.max(axis=1) for part in parts) + score.biases[: sizes[0]]
    before = [float(score.biases[i]) + _dot(score.first[i], block.x) for i in range(sizes[0])]
    weight, bias = 0, sizes[0]
    for layer in range(len(sizes) - 1):
        for i in range(sizes[layer]):
            unit, on = block.unit[layer, i], block.on[layer, i]
            lower, upper = min(0.0, float(low[i])), max(0.0, float(high[i]))
            block.relu.add(unit >= before[i])
            block.relu.add(unit <= before[i] - lower * (1 - on))
            block.relu.add(unit <= upper * on)
        n_in, n_out = sizes[layer], sizes[layer + 1]
        W = score.weights[weight : weight + n_in * n_out].reshape(n_in, n_out)
        b = score.biases[bias : bias + n_out]
        before = [
            float(b[k]) + pyo.quicksum(float(W[i, k]) * block.unit[layer, i] for i in range(n_in))
            for k in range(n_out)
        ]
        under, over = np.maximum(low, 0.0), np.maximum(high, 0.0)
        rising, falling = np.maximum(W, 0.0), np.minimum(W, 0.0)
        low, high = under @ rising + over @ falling + b, over @ rising + under @ falling + b
        weight, bias = weight + n_in * n_out, bias + n_out
    return before[0]


def _trees(block: Block, score: TreesModel, start: NDArray[np.int64]) -> Any:
    """Add the leaves of all trees: one a tree, open only to the values on its path."""
    import pyomo.environ as pyo

    leaves = range(len(score.value))
    block.leaf = pyo.Var(leaves, bounds=(0.0, 1.0))
    block.path = pyo.ConstraintList()
    for t in range(len(score.leaf) - 1):
        mine = range(score.leaf[t], score.leaf[t + 1])
        block.path.add(pyo.quicksum(block.leaf[leaf] for leaf in mine) == 1)
    for leaf in leaves:
        for c in range(score.condition[leaf], score.condition[leaf + 1]):
            j, mask = int(score.feature[c]), int(score.mask[c])
            values = [v for v in range(start[j], start[j + 1]) if mask >> int(v - start[j]) & 1]
            block.path.add(block.leaf[leaf] <= pyo.quicksum(block.x[v] for v in values))
    return score.base + _dot(score.value, block.leaf)


def _cluster(block: Block, group: Group, member: list[Any]) -> None:
    """Tie members to the point: they agree with it outside the freed features."""
    import pyomo.environ as pyo

    table, codes = group.table, group.search.board.codes
    features = range(table.n_features)
    block.f = pyo.Var(features, domain=pyo.Binary)
    block.few = pyo.Constraint(expr=pyo.quicksum(block.f.values()) <= table.max_changed)
    block.agree = pyo.ConstraintList()
    for j in features:
        may = table.may_take(j)
        for s, inside in enumerate(member):
            own = int(codes[s, j])
            block.agree.add(inside <= block.x[table.start[j] + own] + block.f[j])
            for v in np.flatnonzero(~may[own]).tolist():
                block.agree.add(inside + block.x[table.start[j] + v] <= 1)


def _read(
    values: Mapping[str, float], block: Block, group: Group
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return value numbers and freed features of a block in a solution."""
    start = group.table.start

    def value(variable: Any) -> float:
        return float(variable.value if variable.fixed else values[variable.name])

    x = np.array([value(block.x[v]) for v in range(start[-1])])
    point = [int(x[a:b].argmax()) for a, b in pairwise(start.tolist())]
    freed = [value(block.f[j]) > 0.5 for j in range(group.table.n_features)]
    return np.array(point, dtype=np.int32), np.array(freed)


def _short(group: Group, points: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return how much points miss the score by, judged by the score model itself."""
    scores = group.problem.score.decision(group.table.points(points))
    return np.asarray(group.search.target - scores)


# -- the plain model -------------------------------------------------------------------------


def solve_milp(
    group: Group,
    *,
    count: int | None = None,
    solver: str = "auto",
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
) -> tuple[SolveResult, Clusters | None]:
    """Solve the plain model.

    Parameters
    ----------
    group : Group
    count : int, optional
        Candidates; as many as there are rows by default.
    solver : str
    time_limit : float, optional
        Seconds, building included.
    threads, seed : int

    Returns
    -------
    result : SolveResult
    clusters : Clusters or None
        Those of the incumbent, every point of the wanted class.
    """
    from groupcf.solvers import solve

    begin = time.perf_counter()
    margin = 0.0
    for attempt in range(_ATTEMPTS):
        model = build_milp(group, group.search.n_rows if count is None else count, margin)
        left = None
        if time_limit is not None:
            left = max(0.1, time_limit - (time.perf_counter() - begin))
        result = solve(model, solver=solver, time_limit=left, threads=threads, seed=seed)
        if not result.status.has_incumbent:
            return result, None
        used = [k for k in model.use if result.values[model.use[k].name] > 0.5]
        parts = [_read(result.values, model.point[k], group) for k in used]
        points = np.array([point for point, _ in parts])
        short = float(_short(group, points).max())
        if short <= 0:
            features = np.array([freed for _, freed in parts])
            return result, group.search.fitting(points, features)
        margin = max(2.0 * short, 10.0 * margin) if attempt else 2.0 * short
    return result, None


# -- pricing -----------------------------------------------------------------------------------


@dataclass(eq=False)
class MipPricer:
    """Pricing by mixed-integer programs, with the published heuristics.

    Every call solves the pricing model, keeps the solutions that the solver met on its way, and
    solves two small models more for the best of them: the point held fixed, other members; the
    members held fixed, another point.

    Parameters
    ----------
    group : Group
    solver : str
    mip_time_limit : float
        Seconds for one model (published: 800).
    threads, seed : int
    pool : int
        Solutions to keep of one solve.

    Attributes
    ----------
    solves : int
        Models solved so far.
    failure : str
        Message of the last solve that ended without an answer.
    """

    group: Group
    solver: str = "auto"
    mip_time_limit: float = 800.0
    threads: int = 1
    seed: int = 0
    pool: int = 10
    solves: int = 0
    failure: str = ""

    def __post_init__(self) -> None:
        self._margin = 0.0
        self._model = build_pricing(self.group)

    def __call__(self, duals: Duals, until: float = math.inf) -> Priced:
        """Return clusters and the bound that the pricing model proves."""
        model, group = self._model, self.group
        for s, price in enumerate(duals.rows):
            model.price[s] = float(price)
        model.other.clear()
        result = self._solve(until)
        if result.status.has_incumbent:
            point, _ = _read(result.values, model.point, group)
            short = float(_short(group, point)[0])
            if short > 0:  # within the solver's tolerance only: ask for more from now on
                self._margin += 2.0 * short
                model = self._model = build_pricing(group, self._margin)
                for s, price in enumerate(duals.rows):
                    model.price[s] = float(price)
                strict = self._solve(until)
                if strict.status.has_incumbent:
                    result = replace(strict, bound=result.bound)
        bound = float(duals.rows.sum()) if result.bound is None else result.bound
        found = self._clusters(result)
        finished = result.status is Status.OPTIMAL
        if not result.status.has_incumbent:
            self.failure = result.message
            return Priced(found, bound, False)
        point, freed = _read(result.values, model.point, group)
        start = group.table.start
        taken = [model.point.x[int(start[j] + v)] for j, v in enumerate(point)]
        for x in taken:  # the point held fixed, other features and members
            x.fix(1)
        if freed.any():
            again = [model.point.f[j] for j in np.flatnonzero(freed).tolist()]
            model.other.add(sum(again) <= len(again) - 1)
            found = found.joined(self._clusters(self._solve(until)))
        for x in taken:
            x.unfix()
        model.other.clear()
        members = [z for z in model.z.values() if result.values[z.name] > 0.5]
        for z in members:  # the members held fixed, another point
            z.fix(1)
        model.other.add(sum(taken) <= len(taken) - 1)
        found = found.joined(self._clusters(self._solve(until)))
        for z in members:
            z.unfix()
        return Priced(found, bound, finished)

    def _clusters(self, result: SolveResult) -> Clusters:
        """Return the clusters of all solutions of a solve whose points are of the wanted class."""
        group, table = self.group, self.group.table
        solutions = [result.values, *result.pool[: self.pool]] if result.values else []
        parts = [_read(values, self._model.point, group) for values in solutions]
        points = np.array([p for p, _ in parts], dtype=np.int32).reshape(-1, table.n_features)
        features = np.array([f for _, f in parts], dtype=bool).reshape(-1, table.n_features)
        if len(points):
            valid = _short(group, points) <= 0
            points, features = points[valid], features[valid]
        return group.search.fitting(points, features)

    def _solve(self, until: float) -> SolveResult:
        from groupcf.solvers import solve

        left = min(self.mip_time_limit, until - time.perf_counter())
        self.solves += 1
        return solve(
            self._model,
            solver=self.solver,
            time_limit=max(0.1, left) if math.isfinite(left) else None,
            threads=self.threads,
            seed=self.seed,
        )
