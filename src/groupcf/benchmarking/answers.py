"""How each unit's target is found: the method for it, its edge cases, and what is said."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcf.benchmarking.benchmark import Benchmark
from groupcf.benchmarking.boxes import Escapes, least_cost_boxes
from groupcf.benchmarking.costs import TargetCost
from groupcf.benchmarking.facets import CutInputs, CutOutputs, RayInputs, RayOutputs
from groupcf.benchmarking.limits import Limits
from groupcf.benchmarking.moves import Move, make_move
from groupcf.benchmarking.results import Target
from groupcf.benchmarking.search import highest_efficiency, least_cost
from groupcf.benchmarking.units import Side, Units
from groupcf.errors import UnsupportedProblemError
from groupcf.solution import GAP_TOLERANCE, Status

Floats = NDArray[np.float64]

NAMES = {
    "enum": "enumerated rays",
    "lazy": "rays by cuts",
    "fdh": "local upper bounds",
    "radial": "radial contraction",
    "kkt": "KKT reference model",
    "bilinear": "bilinear reference model",
}
"""What the methods are called in a result."""
_ALREADY = 1e-9
_MANY = 40
"""Searches for which it pays to enumerate all rays first."""
_SMALL = 9
"""Rows of the largest technology whose rays are enumerated without being asked to."""


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about every unit alike.

    Attributes
    ----------
    benchmark : Benchmark
    change : {"input", "output"}
    cost : TargetCost
    weights : ndarray of shape (n,)
    scale : ndarray of shape (K, n)
        What the changes of each unit are divided by before they are charged.
    limits : Limits
    goals : ndarray of shape (K,)
        E* of each unit.
    method : str
    solver : str
    time_limit : float or None
        Seconds per unit.
    """

    benchmark: Benchmark
    change: Side
    cost: TargetCost
    weights: Floats
    scale: Floats
    limits: Limits
    goals: Floats
    method: str
    solver: str
    time_limit: float | None

    @property
    def units(self) -> Units:
        """The units."""
        return self.benchmark.units

    @property
    def names(self) -> tuple[str, ...]:
        """The goods that may change."""
        return self.units.inputs if self.change == "input" else self.units.outputs

    @property
    def now(self) -> Floats:
        """Present values of the goods that may change, shape (K, n)."""
        return self.units.X if self.change == "input" else self.units.Y

    def plan(self, k: int, values: Floats) -> tuple[Floats, Floats]:
        """Return inputs and outputs of unit k after its goods have changed."""
        if self.change == "input":
            return values, self.units.Y[k]
        return self.units.X[k], values

    def move(self, k: int, useful: Floats) -> Move:
        """Return the changes open to unit k."""
        hull = self.benchmark.rts == "fdh"
        scaled = self.benchmark.hull if hull else self.benchmark.technology
        return make_move(
            self.change, self.now[k], self.limits.lower[k], self.limits.upper[k],
            self.limits.whole, scaled.scale_x if self.change == "input" else scaled.scale_y,
            self.cost, self.weights, self.scale[k], useful,
        )  # fmt: skip


def answers(
    question: Question, which: NDArray[np.int64], *, alone: bool = False
) -> Iterator[Target]:
    """Yield the target of each unit asked for.

    Parameters
    ----------
    question : Question
    which : ndarray of int
        Rows of the units.
    alone : bool
        Compare each unit with the others only (super-efficiency).

    Raises
    ------
    UnsupportedProblemError
        For a method that does not do what is asked; the message says why.
    """
    benchmark = question.benchmark
    method = _method(question, len(which), alone)
    before = benchmark.input_efficiencies
    if alone:
        compared = benchmark.super_efficiency("input").to_numpy(dtype=np.float64)
        before = np.where(np.isnan(compared), np.inf, compared)
    for k in which:
        start = time.perf_counter()
        yield _one(question, int(k), method, float(before[k]), int(k) if alone else -1, start)


def _method(question: Question, searches: int, alone: bool) -> str:
    """Choose the method, or check that the named one does what is asked."""
    asked, benchmark = question.method, question.benchmark
    if question.cost.radial:
        if benchmark.rts == "fdh" and question.change == "output":
            raise UnsupportedProblemError(
                "cost: in the free disposal hull no smallest radial expansion of outputs exists; "
                "ask for a least cost such as 'l1'"
            )
        return "radial"
    if benchmark.rts == "fdh":
        if asked in ("kkt", "bilinear"):
            raise UnsupportedProblemError(
                f"method {asked!r}: the free disposal hull is not convex and has no such model"
            )
        return "fdh"
    if asked in ("kkt", "bilinear"):
        if alone:
            raise UnsupportedProblemError(f"method {asked!r}: not with super_efficiency")
        if asked == "kkt" and question.limits.whole.any():
            raise UnsupportedProblemError(
                "method 'kkt': it demands exactly the target, which goods in whole numbers miss"
            )
        return asked
    if alone:  # the technology differs from unit to unit
        return "lazy"
    if asked == "auto":
        small = benchmark.technology.m <= _SMALL and searches >= _MANY
        return "enum" if small and benchmark.rays() is not None else "lazy"
    if asked == "enum" and benchmark.rays() is None:
        raise UnsupportedProblemError(
            "method 'enum': the technology has too many extreme rays; take 'lazy'"
        )
    return asked


def _one(question: Question, k: int, method: str, before: float, skip: int, start: float) -> Target:
    """Answer for one unit."""
    goal = float(question.goals[k])

    def target(status: Status, **facts: Any) -> Target:
        return Target(
            status=status, method=NAMES[method], unit=question.units.labels[k], before=before,
            target=goal, names=question.names, now=question.now[k],
            seconds=time.perf_counter() - start, **facts,
        )  # fmt: skip

    now = question.now[k]
    allowed = bool(((question.limits.lower[k] <= now) & (now <= question.limits.upper[k])).all())
    if before >= goal * (1.0 - _ALREADY) and allowed:
        return target(
            Status.OPTIMAL, objective=0.0, bound=0.0, values=now.copy(), second=0.0,
            message="already as efficient as wanted",
        )  # fmt: skip
    if method == "radial":
        values = _radial(question, k, before, goal, skip)
        if values is None:
            return target(Status.INFEASIBLE, message=_hopeless(question, k))
        squares = float(((values - now) / question.scale[k]) ** 2 @ question.weights)
        return target(Status.OPTIMAL, objective=squares, values=values)
    return _searched(question, k, method, goal, skip, target)


def _searched(
    question: Question, k: int, method: str, goal: float, skip: int, target: Callable[..., Target]
) -> Target:
    move = question.move(k, _useful(question, k, goal, skip))
    deadline = None
    if question.time_limit is not None:
        deadline = time.perf_counter() + question.time_limit
    x0, y0 = _scaled(question, k)
    if method in ("kkt", "bilinear"):
        from groupcf.benchmarking.references import solve_reference

        status, found, message = solve_reference(
            method, question.benchmark.technology, move, question.change, x0, y0, goal,
            solver=question.solver, time_limit=question.time_limit,
        )  # fmt: skip
        if found is None:
            return target(status, message=message)
    elif method == "fdh":
        other = y0 if question.change == "input" else x0
        escapes = Escapes(question.benchmark.hull, move, other, goal, skip)
        found, message = least_cost_boxes(escapes, move, deadline), ""
    else:
        facets = _facets(question, method, x0, y0, skip)
        found, message = least_cost(facets, move, goal, deadline), ""
    if found.d is None and found.complete:
        return _unattainable(question, k, method, goal, skip, move, target)
    forced = question.cost.of((move.begin - move.now) / question.scale[k], question.weights)
    if found.d is None:
        bound = _first_part(found.bound, move, forced, question.cost.lexicographic)
        return target(
            Status.NO_INCUMBENT, bound=bound,
            message="time was up before a target was found; give it more, or take 'enum'",
        )  # fmt: skip
    values = move.values(found.d)
    first, second = question.cost.of((values - move.now) / question.scale[k], question.weights)
    proven = found.complete and found.bound >= found.value - GAP_TOLERANCE * abs(found.value)
    bound = first if proven else _first_part(found.bound, move, forced, question.cost.lexicographic)
    return target(
        Status.OPTIMAL if proven else Status.FEASIBLE, objective=first, bound=min(bound, first),
        values=values, second=second if question.cost.lexicographic else None, message=message,
    )  # fmt: skip


def _first_part(
    bound: float, move: Move, forced: tuple[float, float], lexicographic: bool
) -> float:
    """Return a bound on the cost (the first part of a lexicographic one) from a folded bound."""
    if not lexicographic:
        return bound + forced[0]
    return max(0.0, (bound - 0.5 * move.factor) / move.factor) + forced[0]


def _scaled(question: Question, k: int) -> tuple[Floats, Floats]:
    benchmark = question.benchmark
    scaled = benchmark.hull if benchmark.rts == "fdh" else benchmark.technology
    return scaled.X[k], scaled.Y[k]


def _facets(
    question: Question, method: str, x0: Floats, y0: Floats, skip: int
) -> RayInputs | RayOutputs | CutInputs | CutOutputs:
    benchmark = question.benchmark
    if method == "enum":
        rays = benchmark.rays()
        assert rays is not None
        return RayInputs(rays, y0) if question.change == "input" else RayOutputs(rays, x0)
    technology = benchmark.technology
    benchmark.input_efficiencies  # noqa: B018 - makes the frontier complete
    if question.change == "input":
        return CutInputs(technology, x0, y0, skip)
    return CutOutputs(technology, x0, skip)


def _useful(question: Question, k: int, goal: float, skip: int) -> Floats:
    """Return the scaled values beyond which no good needs to go.

    An input may be worth lowering all the way. An output never needs to exceed what the wanted
    share of the inputs can make of it alone.
    """
    if question.change == "input":
        return np.zeros(len(question.names))
    x0, _ = _scaled(question, k)
    benchmark = question.benchmark
    if benchmark.rts == "fdh":
        ratio = benchmark.hull.ratios(x0)
        able = np.isfinite(ratio)
        if skip >= 0:
            able[skip] = False
        made = benchmark.hull.Y[able]
        return made.max(axis=0) if len(made) else np.zeros(len(question.names))
    technology = benchmark.technology
    benchmark.input_efficiencies  # noqa: B018 - makes the frontier complete
    n = technology.n_outputs
    at = np.tile(goal * x0, (n, 1))
    nothing = np.zeros((n, n))
    without = None if skip < 0 else np.full(n, skip, dtype=np.int64)
    steps = technology.steps(
        technology.sides(at, nothing),
        technology.directions(np.zeros_like(at), np.eye(n)),
        skip=without,
    )
    return np.maximum(steps.step, 0.0) * (1.0 + 1e-9)


def _radial(question: Question, k: int, before: float, goal: float, skip: int) -> Floats | None:
    """Return the goods after the same relative change of all, as Farrell's measure has it."""
    if question.change == "input":
        return question.now[k] * (before / goal) if before > 0 else None
    technology = question.benchmark.technology
    x0, y0 = _scaled(question, k)
    if not y0.any():
        return None
    step = technology.steps(
        technology.sides(goal * x0[None], y0[None]),
        technology.directions(np.zeros_like(x0)[None], y0[None]),
        skip=None if skip < 0 else np.array([skip]),
    ).step[0]
    return question.now[k] * (1.0 + step) if np.isfinite(step) else None


def _hopeless(question: Question, k: int) -> str:
    if not question.units.Y[k].any():
        return "makes no output at all, so its efficiency is 0 whatever its inputs are"
    return "no change of all goods by the same share reaches the target"


def _unattainable(
    question: Question,
    k: int,
    method: str,
    goal: float,
    skip: int,
    move: Move,
    target: Callable[..., Target],
) -> Target:
    """Say how far the allowed changes reach."""
    x0, y0 = _scaled(question, k)
    benchmark = question.benchmark
    if question.change == "input" and not y0.any() and benchmark.rts in ("crs", "drs"):
        return target(Status.INFEASIBLE, reachable=0.0, message=_hopeless(question, k))
    furthest = move.furthest()
    without = None if skip < 0 else np.array([skip])
    if benchmark.rts == "fdh":
        far = (furthest, y0) if question.change == "input" else (x0, furthest)
        reachable = benchmark.hull.input_efficiency(*far, skip)[0]
    elif question.change == "input":
        reachable = float(
            benchmark.technology.input_efficiency(furthest[None], y0[None], without)[0][0]
        )
    else:
        facets = _facets(question, "lazy" if skip >= 0 else method, x0, y0, skip)
        assert isinstance(facets, (RayOutputs, CutOutputs))
        reachable = highest_efficiency(facets, move)
    text = "nothing may change" if not move.cap.any() else "the allowed changes are not enough"
    if np.isfinite(reachable) and reachable < goal:
        text += f": they reach an efficiency of at most {reachable:.4g}"
        if not move.cap.any():
            text = f"nothing may change: its efficiency stays at {reachable:.4g}"
        return target(Status.INFEASIBLE, reachable=reachable, message=text)
    return target(Status.INFEASIBLE, message=text)
