"""Score models over value numbers, compiled: a value for a point, a bound for a set of points.

A *set of points* is given as in the pattern search: feature j may take the values marked in
`free` at no charge, those marked in `paid` at a charge of one, and the charges together may not
exceed a budget. :func:`upper` bounds the score from above over such a set and proposes a point
of it; for a linear score bound and point are exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

from groupcf.classifiers.networks import NetworkScore
from groupcf.classifiers.scores import LinearScore, Score
from groupcf.classifiers.trees import TreeEnsembleScore
from groupcf.errors import UnsupportedProblemError
from groupcf.exact.pattern_table import PatternTable
from groupcf.features import Kind

_ROUNDING = 1e-11
_WORD = 64

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class LinearModel(NamedTuple):
    """Base score and the contribution of each value."""

    base: float
    gain: Floats


class NetworkModel(NamedTuple):
    """ReLU network: first layer by value, the others as matrices one after another."""

    first: Floats
    inverse: Floats
    sizes: Integers
    weights: Floats
    biases: Floats


class TreesModel(NamedTuple):
    """Leaves of each tree, largest value first, and the values that lead to each.

    Leaf l asks that feature ``feature[c]`` takes a value of bit set ``mask[c]`` for c from
    ``condition[l]`` to ``condition[l + 1]``.
    """

    base: float
    leaf: Integers
    value: Floats
    condition: Integers
    feature: Integers
    mask: NDArray[np.uint64]
    rounding: float
    single: bool


Model = LinearModel | NetworkModel | TreesModel


# -- from score models ---------------------------------------------------------------------


def compile_score(score: Score, table: PatternTable) -> Model:
    """Return a score over the value numbers of a table.

    Raises
    ------
    UnsupportedProblemError
        For a score of an unknown kind, or more values of one feature than trees can be
        compiled for.
    """
    if isinstance(score, LinearScore):
        return LinearModel(float(score.intercept), _by_value(score.weights[:, None], table)[0])
    if isinstance(score, NetworkScore):
        return _network(score, table)
    if isinstance(score, TreeEnsembleScore):
        return _trees(score, table)
    raise UnsupportedProblemError(
        f"score: pattern methods know linear, network and tree scores, not {type(score).__name__}"
    )


def _by_value(weights: Floats, table: PatternTable) -> Floats:
    """Return what each value contributes to each unit, shape (units, V)."""
    parts = []
    for j, (feature, block) in enumerate(
        zip(table.space.features, table.space.blocks, strict=True)
    ):
        values = table.values[j]
        if feature.kind is Kind.NOMINAL:
            parts.append(weights[block][values.astype(np.int64)])
        else:
            parts.append(values[:, None] * weights[block])
    return np.ascontiguousarray(np.concatenate(parts).T)


def _network(score: NetworkScore, table: PatternTable) -> Model:
    first = _by_value(score.weights[0], table)
    if not score.hidden_sizes:
        return LinearModel(float(score.biases[0][0]), first[0])
    return NetworkModel(
        first,
        -first,
        np.array([*score.hidden_sizes, 1], dtype=np.int64),
        np.concatenate([W.ravel() for W in score.weights[1:]]),
        np.concatenate(score.biases),
    )


def _trees(score: TreeEnsembleScore, table: PatternTable) -> TreesModel:
    owner, blocks = table.space.owner, table.space.blocks
    for j, values in enumerate(table.values):
        if len(values) > _WORD:
            raise UnsupportedProblemError(
                f"feature {table.space.names[j]!r} takes {len(values)} values; with trees the "
                f"pattern methods take up to {_WORD}: put it in fewer bins"
            )

    def passing(column: int, above: float, up_to: float) -> int:
        """Return the bit set of values of a column's feature that lie in an interval."""
        j = int(owner[column])
        values = table.values[j]
        if table.space.features[j].kind is Kind.NOMINAL:
            values = (values == column - blocks[j].start).astype(float)
        return sum(1 << int(v) for v in np.flatnonzero((values > above) & (values <= up_to)))

    by_tree: list[list[tuple[float, dict[int, int]]]] = [[] for _ in range(score.n_trees)]
    for leaf in score.leaves():
        masks: dict[int, int] = {}
        for column in {**leaf.above, **leaf.up_to}:
            j = int(owner[column])
            mask = passing(column, leaf.above.get(column, -np.inf), leaf.up_to.get(column, np.inf))
            masks[j] = masks.get(j, (1 << _WORD) - 1) & mask
        if all(masks.values()):
            by_tree[leaf.tree].append((leaf.value, masks))
    value, start, condition, feature, mask_of = [], [0], [0], [], []
    for leaves in by_tree:
        for gain, masks in sorted(leaves, key=lambda leaf: -leaf[0]):
            value.append(gain)
            feature += list(masks)
            mask_of += list(masks.values())
            condition.append(len(feature))
        start.append(len(value))
    return TreesModel(
        float(score.base),
        np.array(start, dtype=np.int64),
        np.array(value, dtype=np.float64),
        np.array(condition, dtype=np.int64),
        np.array(feature, dtype=np.int64),
        np.array(mask_of, dtype=np.uint64),
        float(score.rounding),
        bool(score.single_precision),
    )


# -- compiled ------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def best_sum(coef: Floats, start: Integers, free: Flags, paid: Flags, budget: int, x: Any) -> float:
    """Maximise a sum of coefficients by value over a set of points, exactly.

    Writes the point to `x`; returns -inf if the set is empty.
    """
    n = len(start) - 1
    gains = np.empty(n)
    place = np.empty(n, np.int64)
    other = np.empty(n, np.int64)
    m = 0
    total = 0.0
    for j in range(n):
        lo = start[j]
        a, b = -np.inf, -np.inf
        va, vb = -1, -1
        for v in range(lo, start[j + 1]):
            if free[v]:
                if coef[v] > a or va < 0:
                    a, va = coef[v], v - lo
            elif paid[v] and (coef[v] > b or vb < 0):
                b, vb = coef[v], v - lo
        if va < 0:
            if vb < 0:
                return -np.inf
            total += b
            x[j] = vb
            budget -= 1
            continue
        total += a
        x[j] = va
        if vb >= 0 and b > a:
            gains[m], place[m], other[m] = b - a, j, vb
            m += 1
    if budget < 0:
        return -np.inf
    for k in range(min(budget, m)):
        top = k
        if budget < m:
            for i in range(k + 1, m):
                if gains[i] > gains[top]:
                    top = i
        total += gains[top]
        x[place[top]] = other[top]
        gains[top], place[top], other[top] = gains[k], place[k], other[k]
    return total


def upper(
    model: Any, start: Any, free: Any, paid: Any, budget: Any, x: Any, importance: Any
) -> float:
    """Bound the score from above over a set of points; -inf if the set is empty.

    Writes a promising point of the set to `x`, and to `importance` which features the bound
    hangs on. Only for compiled code.
    """
    raise NotImplementedError


def value(model: Any, start: Any, x: Any) -> float:
    """Return the score of a point. Only for compiled code."""
    raise NotImplementedError


def _upper_linear(
    model: Any, start: Any, free: Any, paid: Any, budget: Any, x: Any, importance: Any
) -> float:
    for j in range(len(start) - 1):
        importance[j] = 0.0
    return float(model.base + best_sum(model.gain, start, free, paid, budget, x))


def _value_linear(model: Any, start: Any, x: Any) -> float:
    total = model.base
    for j in range(len(start) - 1):
        total += model.gain[start[j] + x[j]]
    return float(total)


def _value_network(model: Any, start: Any, x: Any) -> float:
    sizes = model.sizes
    h = model.biases[: sizes[0]].copy()
    for i in range(sizes[0]):
        for j in range(len(start) - 1):
            h[i] += model.first[i, start[j] + x[j]]
    w, b = 0, sizes[0]
    for layer in range(1, len(sizes)):
        z = model.biases[b : b + sizes[layer]].copy()
        for i in range(sizes[layer - 1]):
            if h[i] > 0.0:
                for k in range(sizes[layer]):
                    z[k] += h[i] * model.weights[w + i * sizes[layer] + k]
        w += sizes[layer - 1] * sizes[layer]
        b += sizes[layer]
        h = z
    return float(h[0])


def _upper_network(
    model: Any, start: Any, free: Any, paid: Any, budget: Any, x: Any, importance: Any
) -> float:
    # Interval bounds forwards, one linear bound backwards. The first layer is exact: a unit is
    # a sum by value, which best_sum maximises and minimises over the set itself.
    sizes = model.sizes
    depth = len(sizes)
    low = np.empty(len(model.biases))
    high = np.empty(len(model.biases))
    for i in range(sizes[0]):
        most = best_sum(model.first[i], start, free, paid, budget, x)
        if most == -np.inf:
            return -np.inf
        high[i] = model.biases[i] + most
        low[i] = model.biases[i] - best_sum(model.inverse[i], start, free, paid, budget, x)
    w, before, b = 0, 0, sizes[0]
    for layer in range(1, depth):
        units = sizes[layer]
        for k in range(units):
            low[b + k] = high[b + k] = model.biases[b + k]
        for i in range(sizes[layer - 1]):
            under, over = max(low[before + i], 0.0), max(high[before + i], 0.0)
            for k in range(units):
                c = model.weights[w + i * units + k]
                if c > 0.0:
                    low[b + k] += c * under
                    high[b + k] += c * over
                else:
                    low[b + k] += c * over
                    high[b + k] += c * under
        w += sizes[layer - 1] * units
        before, b = b, b + units
    interval = high[b - 1]
    coef = np.ones(1)
    constant = model.biases[b - 1]
    b -= 1
    for layer in range(depth - 1, 0, -1):
        units = sizes[layer - 1]
        w -= units * sizes[layer]
        b -= units
        back = np.zeros(units)
        for i in range(units):
            a = 0.0
            for k in range(sizes[layer]):
                a += model.weights[w + i * sizes[layer] + k] * coef[k]
            lo, hi = low[b + i], high[b + i]
            if hi <= 0.0:
                a = 0.0
            elif lo < 0.0:
                if a > 0.0:
                    slope = hi / (hi - lo)
                    constant -= a * slope * lo
                    a *= slope
                elif hi <= -lo:
                    a = 0.0
            back[i] = a
            constant += a * model.biases[b + i]
        coef = back
    gain = np.zeros(start[-1])
    for i in range(sizes[0]):
        if coef[i] != 0.0:
            for v in range(len(gain)):
                gain[v] += coef[i] * model.first[i, v]
    bound = constant + best_sum(gain, start, free, paid, budget, x)
    for j in range(len(start) - 1):
        least, most = np.inf, -np.inf
        for v in range(start[j], start[j + 1]):
            if free[v] or paid[v]:
                least, most = min(least, gain[v]), max(most, gain[v])
        importance[j] = most - least
    bound = min(bound, interval)
    return float(bound + _ROUNDING * (1.0 + abs(bound)))


def _value_trees(model: Any, start: Any, x: Any) -> float:
    total = model.base
    rounded = np.float32(model.base)
    for t in range(len(model.leaf) - 1):
        for leaf in range(model.leaf[t], model.leaf[t + 1]):
            inside = True
            for c in range(model.condition[leaf], model.condition[leaf + 1]):
                if not (model.mask[c] >> np.uint64(x[model.feature[c]])) & np.uint64(1):
                    inside = False
                    break
            if inside:
                total += model.value[leaf]
                rounded += np.float32(model.value[leaf])
                break
    return float(rounded) if model.single else float(total)


def _upper_trees(
    model: Any, start: Any, free: Any, paid: Any, budget: Any, x: Any, importance: Any
) -> float:
    # Every tree takes its best leaf that the set reaches; the point is the leaves' majority.
    n = len(start) - 1
    reach = np.zeros(n, np.uint64)
    for j in range(n):
        for v in range(start[j], start[j + 1]):
            if free[v] or paid[v]:
                reach[j] |= np.uint64(1) << np.uint64(v - start[j])
    votes = np.zeros(start[-1])
    for j in range(n):
        importance[j] = 0.0
    total = model.base
    for t in range(len(model.leaf) - 1):
        for leaf in range(model.leaf[t], model.leaf[t + 1]):
            inside = True
            for c in range(model.condition[leaf], model.condition[leaf + 1]):
                if not model.mask[c] & reach[model.feature[c]]:
                    inside = False
                    break
            if not inside:
                continue
            total += model.value[leaf]
            stake = model.value[leaf] - model.value[model.leaf[t + 1] - 1]
            for c in range(model.condition[leaf], model.condition[leaf + 1]):
                j = model.feature[c]
                importance[j] += stake
                for v in range(start[j], start[j + 1]):
                    if (model.mask[c] >> np.uint64(v - start[j])) & np.uint64(1):
                        votes[v] += stake
            break
    if best_sum(votes, start, free, paid, budget, x) == -np.inf:
        return -np.inf
    for j in range(n):
        importance[j] -= votes[start[j] + x[j]]
    return float(total + model.rounding)


def is_model(model: Any, kind: type) -> bool:
    """Whether a numba type is that of a kind of model."""
    return isinstance(model, types.NamedTuple) and model.instance_class is kind


@overload(upper, inline="never")
def _choose_upper(
    model: Any, start: Any, free: Any, paid: Any, budget: Any, x: Any, importance: Any
) -> Any:
    if is_model(model, LinearModel):
        return _upper_linear
    return _upper_network if is_model(model, NetworkModel) else _upper_trees


@overload(value, inline="never")
def _choose_value(model: Any, start: Any, x: Any) -> Any:
    if is_model(model, LinearModel):
        return _value_linear
    return _value_network if is_model(model, NetworkModel) else _value_trees
