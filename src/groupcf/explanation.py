"""The public call: explain a group of instances of a fitted classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from groupcf.checks import instance_of
from groupcf.classifiers import Classifier
from groupcf.classifiers.scores import Link
from groupcf.costs import Cost
from groupcf.errors import ClassifierError, ConfigError, DataError
from groupcf.features import FeatureSpace, Kind
from groupcf.linking import Linking
from groupcf.problems import Allocation, OneForOne, Problem
from groupcf.router import solve
from groupcf.solution import Solution, Status, Verification
from groupcf.verify import verify

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Explanation:
    """Counterfactuals of a group, in the user's own columns, with their proof.

    Attributes
    ----------
    instances : DataFrame
        The instances as given, restricted to the features.
    problem : Problem
    solution : Solution
    verification : Verification
        Independent re-check against the original classifier.
    classifier : Classifier
    """

    instances: pd.DataFrame
    problem: Problem
    solution: Solution
    verification: Verification
    classifier: Classifier

    @property
    def status(self) -> Status:
        """Outcome of the solve."""
        return self.solution.status

    @property
    def objective(self) -> float | None:
        """Cost of the counterfactuals (or their number, when the fewest are asked for)."""
        return self.solution.objective

    @property
    def bound(self) -> float | None:
        """Proven lower bound on the best possible objective."""
        return self.solution.bound

    @property
    def gap(self) -> float | None:
        """Relative gap between objective and bound."""
        return self.solution.gap

    @property
    def method(self) -> str:
        """Method that produced the answer."""
        return self.solution.method

    @property
    def why(self) -> str:
        """Why this method was chosen."""
        return self.solution.why

    @property
    def verified(self) -> bool | None:
        """Whether every independent check holds; None when there is nothing to verify."""
        return self.verification.ok if self.status.has_incumbent else None

    def counterfactuals(self) -> pd.DataFrame:
        """Return one row per (instance, counterfactual) in the user's columns and values.

        Values of unchanged features are the user's own, to the last digit. The index
        carries the instance's label; instances left where they are do not appear.

        Raises
        ------
        DataError
            When the solve found no counterfactuals; the message carries the reason.
        """
        solution = self.solution
        if solution.counterfactuals is None:
            raise DataError(f"no counterfactuals: {solution.status}. {solution.message}")
        pairs = solution.pairs()
        X0 = self.problem.instances[pairs[:, 0]]
        X = solution.counterfactuals[pairs[:, 1]]
        original = self.instances.iloc[pairs[:, 0]]
        space = self.problem.space
        changed = space.changed(X0, X)
        decoded = space.decode(X, original.index)
        columns = {}
        for j, feature in enumerate(space.features):
            values = original[feature.name]
            moved = changed[:, j]
            if moved.any():
                replacement = decoded[feature.name]
                if feature.kind is Kind.NUMERICAL:
                    columns[feature.name] = replacement.where(moved, values.astype(float))
                else:
                    merged = [
                        b if m else a for a, b, m in zip(values, replacement, moved, strict=True)
                    ]
                    columns[feature.name] = pd.Series(merged, index=values.index).astype(
                        values.dtype
                    )
            else:
                columns[feature.name] = values
        return pd.DataFrame(columns, index=original.index)

    def frame(self) -> pd.DataFrame:
        """Return originals above their counterfactuals, indexed by (instance, version)."""
        after = self.counterfactuals()
        before = self.instances.loc[after.index.unique()]
        parts = {"original": before, "counterfactual": after}
        both = pd.concat(parts, names=["version"])
        both.index = both.index.set_names("instance", level=-1)
        order = {label: i for i, label in enumerate(self.instances.index)}
        both = both.swaplevel().sort_index(
            level="instance", key=lambda ix: ix.map(order), sort_remaining=False, kind="stable"
        )
        return both

    def changes(self) -> pd.DataFrame:
        """Return one row per changed feature: instance, feature, from, to."""
        after = self.counterfactuals()
        pairs = self.solution.pairs()
        assert self.solution.counterfactuals is not None
        changed = self.problem.space.changed(
            self.problem.instances[pairs[:, 0]], self.solution.counterfactuals[pairs[:, 1]]
        )
        rows = []
        for i, label in enumerate(after.index):
            for j in np.flatnonzero(changed[i]):
                name = self.problem.space.names[j]
                rows.append((label, name, self.instances.loc[label, name], after[name].iloc[i]))
        # object columns: an integer stays one beside a feature with fractions
        names = ["instance", "feature", "from", "to"]
        return pd.DataFrame(rows, columns=names, dtype=object)

    def clusters(self) -> pd.DataFrame:
        """Return one row per counterfactual: who shares it, and what it asks of them.

        Columns: instances (how many), changes (changed features over all of them), and every
        feature that one of them changes, with the value to take; empty where nobody of the
        cluster changes it. The index numbers the counterfactuals.

        Raises
        ------
        DataError
            When the solve found no counterfactuals; the message carries the reason.
        """
        after = self.counterfactuals()
        pairs = self.solution.pairs()
        assert self.solution.counterfactuals is not None
        changed = self.problem.space.changed(
            self.problem.instances[pairs[:, 0]], self.solution.counterfactuals[pairs[:, 1]]
        )
        rows = {}
        for r in np.unique(pairs[:, 1]):
            members = np.flatnonzero(pairs[:, 1] == r)
            row = {"instances": len(members), "changes": int(changed[members].sum())}
            for j, name in enumerate(self.problem.space.names):
                movers = members[changed[members, j]]
                if len(movers):
                    row[name] = after[name].iloc[movers[0]]
            rows[int(r)] = row
        table = pd.DataFrame.from_dict(rows, orient="index", dtype=object)
        used = [n for n in self.problem.space.names if n in table.columns]
        table = table[["instances", "changes", *used]].fillna("")
        return table.rename_axis("counterfactual")

    def summary(self) -> str:
        """Return the answer and its certificate in a few lines of text."""
        s = self.solution
        lines = [f"{s.status} by {s.method} in {s.seconds:.2f} s ({s.why})"]
        if s.objective is not None:
            bound = "none" if s.bound is None else f"{s.bound:.6g}"
            gap = "unknown" if s.gap is None else f"{100 * s.gap:.2g} %"
            lines.append(f"objective {s.objective:.6g}, lower bound {bound}, gap {gap}")
        if s.message:
            lines.append(s.message)
        failed = "; ".join(f"{c.name} ({c.detail})" for c in self.verification.failed)
        if failed:
            lines.append(f"NOT verified: {failed}")
        elif self.verified:
            lines.append("verified against the original classifier")
        else:
            lines.append("no counterfactuals, nothing to verify")
        return "\n".join(lines)

    def plot(self) -> Figure:
        """Return a heat map of the changes (matplotlib figure)."""
        from groupcf.report.figures import draw_changes

        pairs = self.solution.pairs()
        if self.solution.counterfactuals is None:
            raise DataError(f"nothing to plot: {self.solution.status}. {self.solution.message}")
        X0 = self.problem.instances[pairs[:, 0]]
        X = self.solution.counterfactuals[pairs[:, 1]]
        labels = [str(v) for v in self.instances.index[pairs[:, 0]]]
        return draw_changes(self.problem.space, X0, X, labels)


def explain(
    classifier: Any,
    instances: pd.DataFrame,
    space: FeatureSpace,
    *,
    positive: Any = None,
    allocation: Allocation | None = None,
    cost: Cost | None = None,
    linking: tuple[Linking, ...] = (),
    nu: float | None = None,
    threshold: float | None = None,
    vote: Literal["soft", "hard"] = "soft",
    method: str = "auto",
    solver: str = "auto",
    time_limit: float | None = None,
    threads: int = 1,
) -> Explanation:
    """Find the least costly changes after which a classifier accepts a group.

    Parameters
    ----------
    classifier : fitted estimator or Pipeline
        scikit-learn or XGBoost, fitted on the user's own columns or on encoded columns.
    instances : DataFrame of S rows
        The people (or firms) to be explained, in the user's own columns.
    space : FeatureSpace
        Describes the columns: kinds, bounds, what may change.
    positive : label, optional
        The wanted class. May be left out when the classes are 0/1, -1/+1 or False/True.
    allocation : OneForOne, ManyForOne or OneForMany, optional
        Who shares a counterfactual with whom; one for each by default.
    cost : Cost, optional
        Squared Euclidean distance by default.
    linking : tuple, optional
        Constraints between counterfactuals of the group, see :mod:`groupcf.linking`.
    nu : float, optional
        Probability of the wanted class that a counterfactual must reach; 0.5 by default.
    threshold : float, optional
        Instead of nu, the score to be reached; for classifiers without a probability
        (0, their own decision boundary, by default).
    vote : {"soft", "hard"}
        How a forest's trees vote.
    method, solver, time_limit, threads
        See :func:`groupcf.router.solve`.

    Returns
    -------
    Explanation
        Also when infeasible or stopped by the time limit: look at ``status``.

    Raises
    ------
    DataError, FeatureError, ConfigError, ClassifierError, UnsupportedProblemError
        For input that makes no sense; the message names column, row or key.
    """
    if not isinstance(instances, pd.DataFrame):
        raise DataError("instances: give a pandas DataFrame with the feature space's columns")
    instance_of("space", space, FeatureSpace)
    if positive is None:
        positive = _obvious_positive(classifier)
    fitted = Classifier(classifier, space, positive, vote=vote)
    if nu is not None and threshold is not None:
        raise ConfigError("nu, threshold: give one of the two")
    if threshold is None:
        link = fitted.score.link
        threshold = (
            0.0 if nu is None and link is Link.NONE else link.threshold(0.5 if nu is None else nu)
        )
    problem = Problem(
        space=space,
        score=fitted.score,
        instances=space.encode(instances),
        threshold=threshold,
        allocation=allocation or OneForOne(),
        cost=cost or Cost(),
        linking=linking,
    )
    solution = solve(problem, method=method, solver=solver, time_limit=time_limit, threads=threads)
    return Explanation(
        instances=instances[space.names],
        problem=problem,
        solution=solution,
        verification=verify(problem, solution, fitted),
        classifier=fitted,
    )


def _obvious_positive(classifier: Any) -> Any:
    classes = list(getattr(classifier, "classes_", ()))
    if len(classes) == 2 and set(classes) in ({0, 1}, {-1, 1}, {False, True}):
        return max(classes)
    raise ClassifierError(
        f"positive: say which class is wanted; the classifier's classes are {classes}"
    )
