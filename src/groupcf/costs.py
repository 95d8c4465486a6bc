"""Cost of moving a group (models.md section 0, "Cost").

C(x0, x) = sum_s w_s pi(sigma(x_s - x0_s)) + lam_ind * sum_s l0_s + lam_glob * gamma0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupcf.checks import number
from groupcf.errors import ConfigError
from groupcf.features import FeatureSpace


@dataclass(frozen=True)
class Cost:
    """Distance and sparsity weights.

    Attributes
    ----------
    gauge : {"l2_squared", "l1"}
        pi(sigma(.)) applied to the difference by feature: the weighted squared Euclidean
        norm of the dissertation (eq. 2.1) or the weighted l1 norm.
    lam_ind : float
        Price of one changed feature of one instance, >= 0.
    lam_glob : float
        Price of one feature changed for at least one instance, >= 0.
    """

    gauge: Literal["l2_squared", "l1"] = "l2_squared"
    lam_ind: float = 0.0
    lam_glob: float = 0.0

    def __post_init__(self) -> None:
        if self.gauge not in ("l2_squared", "l1"):
            raise ConfigError(f"gauge: {self.gauge!r} is none of l2_squared, l1")
        for name in ("lam_ind", "lam_glob"):
            if number(name, getattr(self, name)) < 0:
                raise ConfigError(f"{name}: {getattr(self, name)!r} must be a number >= 0")

    def distances(self, space: FeatureSpace, X0: ArrayLike, X: ArrayLike) -> NDArray[np.float64]:
        """Return the distance part by instance, shape (S,)."""
        u = np.abs(space.differences(X0, X))
        powered = u**2 if self.gauge == "l2_squared" else u
        return np.asarray(powered @ space.weights)

    def apart(self, space: FeatureSpace, A: ArrayLike, B: ArrayLike) -> NDArray[np.float64]:
        """Return the distance of each pair of points: Euclidean, or the l1 norm; shape (S,)."""
        length = self.distances(space, A, B)
        return np.asarray(np.sqrt(length)) if self.gauge == "l2_squared" else length

    def total(self, space: FeatureSpace, X0: ArrayLike, X: ArrayLike) -> float:
        """Return C(x0, x) for one counterfactual per instance, both of shape (S, D)."""
        changed = space.changed(X0, X)
        return float(
            self.distances(space, X0, X).sum()
            + self.lam_ind * changed.sum()
            + self.lam_glob * changed.any(axis=0).sum()
        )
