"""Parameters of fitted scikit-learn classifiers, read into score models.

Each convertor takes the estimator, the position of the wanted class and the vote, and
returns a score on the columns that the estimator itself reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from groupcf.classifiers.scores import LinearScore, Link


def _linear(estimator: Any, wanted: int, link: Link) -> LinearScore:
    sign = 1.0 if wanted == 1 else -1.0
    coefficients = np.asarray(estimator.coef_, dtype=float).reshape(-1)
    intercept = np.asarray(estimator.intercept_, dtype=float).reshape(-1)
    return LinearScore(sign * coefficients, float(sign * intercept[0]), link)


def logistic(estimator: Any, wanted: int, vote: str) -> LinearScore:
    """Read a binary LogisticRegression."""
    return _linear(estimator, wanted, Link.LOGISTIC)
