"""Studies of curves: least-cost convex combinations of observed ones (models.md section 5).

A study names a data set of the UCR and UEA archives, the unwanted and the wanted class, and
the curves to explain. Data and forest are made within the study's own job, which takes a
second; the records are those of every other study.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupcf.classifiers import train
from groupcf.datasets import load_series
from groupcf.errors import ConfigError
from groupcf.functional import (
    CurveClassifier,
    FunctionalProblem,
    FunctionalSolution,
    classify_curves,
    solve_dtw,
    solve_euclidean,
    verify_curves,
)
from groupcf.pipeline import config as configuration
from groupcf.pipeline.studies import Answer, Prepared

MODELS = {"euclidean": "CEF", "dtw": "CEFDTW"}
FOREST = {"n_estimators": 200, "max_depth": 4}
"""The published classifier: 200 trees of depth 4."""


def prepare(
    study: Mapping[str, Any], cache: Path, files: Mapping[str, str], options: Mapping[str, Any]
) -> Prepared:
    """Load the curves of a study and train its classifiers.

    Raises
    ------
    SourceUnavailableError
        When the data set is nowhere to be had.
    ConfigError
        For classes or instances that do not exist.
    """
    data = _Data(study, cache)
    answers: dict[tuple[str, int], FunctionalSolution] = {}
    return Prepared(
        configuration.OWN_DATA["functional"],
        lambda solve: [data.sha256],
        lambda solve: {
            "dataset": data.described,
            "classifier": {"name": solve["classifier"]} | data.fitted(solve["classifier"])[1],
        },
        lambda solve: _solve(study, solve, data, options, answers),
    )


class _Data:
    """The curves of the two classes, training part first, and classifiers fitted on it."""

    def __init__(self, study: Mapping[str, Any], cache: Path) -> None:
        series = load_series(study["dataset"], cache=cache)
        self.labels = study["curves"]["unwanted"], study["curves"]["wanted"]
        X = np.concatenate([series.X_train, series.X_test])
        y = np.concatenate([series.y_train, series.y_test])
        for label in self.labels:
            if label not in y:
                raise ConfigError(
                    f"study {study['id']}, key curves: {label!r} is no class of {series.name}; its "
                    f"classes are {', '.join(np.unique(y))}"
                )
        keep = np.isin(y, self.labels)
        self.X, self.wanted = X[keep], (y[keep] == self.labels[1]).astype(int)
        self.n_train = int(keep[: len(series.X_train)].sum())
        self.sha256 = series.sha256
        self.described = {
            "name": series.name,
            "variant": study["variant"],
            "sha256": series.sha256,
            "rows": len(self.X),
            "source": series.source,
            "notes": list(series.notes),
        }
        self._fitted: dict[str, tuple[CurveClassifier, dict[str, Any]]] = {}

    def fitted(self, name: str) -> tuple[CurveClassifier, dict[str, Any]]:
        """Return a classifier and its description."""
        if name not in self._fitted:
            rows = self.X.reshape(len(self.X), -1)
            extra = FOREST if name == "random_forest" else {}
            model = train(name, rows[: self.n_train], self.wanted[: self.n_train], **extra)
            classifier = classify_curves(model, self.X, positive=1)
            hits = classifier.predict_wanted(self.X) == (self.wanted == 1)
            self._fitted[name] = (
                classifier,
                {
                    "estimator": type(model).__name__,
                    "sha256": classifier.classifier.checksum(),
                    "accuracy_train": float(hits[: self.n_train].mean()),
                    "accuracy_test": float(hits[self.n_train :].mean()),
                },
            )
        return self._fitted[name]


def _solve(
    study: Mapping[str, Any],
    solve: Mapping[str, Any],
    data: _Data,
    options: Mapping[str, Any],
    answers: dict[tuple[str, int], FunctionalSolution],
) -> Answer:
    classifier = data.fitted(solve["classifier"])[0]
    given = solve["parameters"]
    rejected = np.flatnonzero(~classifier.predict_wanted(data.X) & (data.wanted == 0))
    if len(study.get("rows", ())) != 1:
        raise ConfigError(
            f"study {study['id']}, key instances: one number is needed, the position among the "
            "curves of the unwanted class that the classifier rejects"
        )
    position = int(study["rows"][0])
    if position >= len(rejected):
        raise ConfigError(
            f"study {study['id']}, key instances: {position} is beyond the {len(rejected)} "
            "curves of the unwanted class that the classifier rejects"
        )
    row = int(rejected[position])
    problem = FunctionalProblem.of(
        classifier,
        data.X[row],
        data.X,
        nu=given["nu"],
        b_max=int(given.get("b_max", 1)),
        lam0=given.get("lam0", 0.0),
        lam2=given.get("lam2", 1.0),
    )
    distance = study["curves"].get("distance", "euclidean")
    limit = min(options["time_limit"], study["curves"].get("time_limit", np.inf))
    place = (solve["classifier"], row)
    known = answers.get(place)
    if known is not None and len(known.used) > problem.b_max:
        known = None
    answer = answers[place] = solve_euclidean(problem, time_limit=limit, start=known)
    if distance == "dtw":
        answer = solve_dtw(problem, time_limit=limit, euclidean=answer)
    verification = verify_curves(problem, answer, classifier, dtw=distance == "dtw")
    details = dict(answer.details) | {
        "row": row,
        "distance": distance,
        "prototypes_used": list(answer.used),
        "features": len(problem.x0),
        "changed": [problem.names[j] for j in answer.changed],
    }
    return Answer(
        model=MODELS[distance],
        solution=answer,
        verification=verification,
        n_instances=1,
        n_flipped=1 if answer.curve is not None else 0,
        changed_features={problem.names[j]: 1 for j in answer.changed},
        details=details,
        instances=None if answer.curve is None else curve_table(problem, answer),
    )


def curve_table(problem: FunctionalProblem, answer: FunctionalSolution) -> pd.DataFrame:
    """Return the curves of an answer: one row for each curve, functional feature and point.

    Columns: ``curve`` ("original", "counterfactual", "prototype k"), ``feature``, ``point``,
    ``value``, ``weight`` (of a prototype in this feature), ``changed``.
    """
    assert answer.curve is not None
    assert answer.weights is not None
    J, T = problem.x0.shape
    shown: list[tuple[str, NDArray[np.float64], NDArray[np.float64]]] = [
        ("original", problem.x0, 1 - answer.weights.sum(axis=1)),
        ("counterfactual", answer.curve, np.ones(J)),
    ]
    shown += [
        (f"prototype {k + 1}", problem.prototypes[b], answer.weights[:, b])
        for k, b in enumerate(answer.used)
    ]
    changed = np.isin(np.arange(J), answer.changed)
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "curve": name,
                    "feature": np.repeat(problem.names, T),
                    "point": np.tile(np.arange(1, T + 1), J),
                    "value": values.ravel(),
                    "weight": np.repeat(weight, T),
                    "changed": np.repeat(changed, T),
                }
            )
            for name, values, weight in shown
        ],
        ignore_index=True,
    )
