"""ReLU networks with one output logit (models.md section 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupcf.classifiers.scores import Link
from groupcf.errors import ClassifierError, DataError


@dataclass(frozen=True, eq=False)
class NetworkScore:
    """f(x) = logit of a network whose hidden layers are max(0, h W + b).

    Attributes
    ----------
    weights : tuple of ndarray
        W of each layer, shape (inputs, units); the last has one unit.
    biases : tuple of ndarray
        b of each layer, shape (units,).
    link : Link

    Raises
    ------
    ClassifierError
        When the layers do not fit together.
    """

    weights: tuple[NDArray[np.float64], ...]
    biases: tuple[NDArray[np.float64], ...]
    link: Link = Link.LOGISTIC

    def __post_init__(self) -> None:
        weights = tuple(np.ascontiguousarray(W, dtype=float) for W in self.weights)
        biases = tuple(np.ascontiguousarray(b, dtype=float) for b in self.biases)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "biases", biases)
        if not weights or len(weights) != len(biases):
            raise ClassifierError("network: one weight matrix and one bias vector for each layer")
        for i, (W, b) in enumerate(zip(weights, biases, strict=True)):
            if W.ndim != 2 or b.shape != (W.shape[1],):
                raise ClassifierError(f"network, layer {i}: bias does not fit the weight matrix")
            if i and W.shape[0] != weights[i - 1].shape[1]:
                raise ClassifierError(f"network, layer {i}: does not fit the layer before it")
            if not (np.isfinite(W).all() and np.isfinite(b).all()):
                raise ClassifierError(f"network, layer {i}: weights must be finite")
        if weights[-1].shape[1] != 1:
            raise ClassifierError("network: the last layer must have one output, the logit")

    @property
    def n_columns(self) -> int:
        """Number D of encoded columns."""
        return int(self.weights[0].shape[0])

    @property
    def hidden_sizes(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return tuple(W.shape[1] for W in self.weights[:-1])

    def decision(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return f(x) for rows of shape (S, D)."""
        h = np.atleast_2d(np.asarray(X, dtype=float))
        if h.shape[1] != self.n_columns:
            raise DataError(f"{h.shape[1]} encoded columns given, {self.n_columns} expected")
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = np.maximum(h @ W + b, 0.0)
        return np.asarray((h @ self.weights[-1] + self.biases[-1])[:, 0])

    def interval_bounds(
        self, lower: ArrayLike, upper: ArrayLike
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return bounds on every layer's values before the ReLU, over a box of inputs.

        Parameters
        ----------
        lower, upper : array of shape (D,)
            Box of encoded points.

        Returns
        -------
        list of (lower, upper)
            One pair of arrays of shape (units,) for each layer; the last bounds f itself.
            Rounded outwards.

        Raises
        ------
        DataError
            When a lower bound exceeds its upper bound.
        """
        low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        if low.shape != (self.n_columns,) or high.shape != low.shape:
            raise DataError(f"bounds: one value for each of the {self.n_columns} encoded columns")
        if (low > high).any():
            column = int(np.argmax(low > high))
            raise DataError(f"encoded column {column}: lower bound exceeds upper bound")
        out = []
        for W, b in zip(self.weights, self.biases, strict=True):
            positive, negative = np.maximum(W, 0.0), np.minimum(W, 0.0)
            size = np.maximum(np.abs(low), np.abs(high)) @ np.abs(W) + np.abs(b)
            slack = (len(W) + 2) * 2.0**-52 * size
            below = low @ positive + high @ negative + b - slack
            above = high @ positive + low @ negative + b + slack
            out.append((below, above))
            low, high = np.maximum(below, 0.0), np.maximum(above, 0.0)
        return out
