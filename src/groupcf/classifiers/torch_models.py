"""PyTorch ReLU networks as classifiers (torch is an optional extra)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from groupcf.classifiers.networks import NetworkScore
from groupcf.errors import ClassifierError


class TorchClassifier:
    """A torch ``Sequential`` of Linear and ReLU layers, with a classifier's methods.

    One output is the logit of class 1 (a closing Sigmoid is accepted), two outputs are the
    scores of classes 0 and 1. The forward pass is torch's own, in the network's precision.

    Parameters
    ----------
    module : torch.nn.Sequential

    Raises
    ------
    ClassifierError
        For any other kind of module or layer; the message names it.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self.classes_ = np.array([0, 1])
        if type(module).__name__ != "Sequential":
            raise ClassifierError(
                f"torch module {type(module).__name__} has no score model; a Sequential of "
                "Linear and ReLU layers has"
            )
        kinds = [type(layer).__name__ for layer in module]
        self.sigmoid = bool(kinds) and kinds[-1] == "Sigmoid"
        body = kinds[:-1] if self.sigmoid else kinds
        if body != (["Linear", "ReLU"] * (len(body) // 2) + ["Linear"]):
            raise ClassifierError(
                f"torch Sequential of {kinds} has no score model; Linear and ReLU layers must "
                "alternate and end with a Linear one"
            )
        self.linear = [layer for layer in module if type(layer).__name__ == "Linear"]
        outputs = int(self.linear[-1].weight.shape[0])
        if outputs > 2 or (outputs == 2 and self.sigmoid):
            raise ClassifierError(
                f"torch Sequential with {outputs} outputs; one logit, or two class scores"
            )
        self.n_features_in_ = int(self.linear[0].weight.shape[1])

    def decision_function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logit of class 1 for rows of shape (S, D)."""
        import torch

        layers = list(self.module)[:-1] if self.sigmoid else list(self.module)
        with torch.no_grad():
            h = torch.from_numpy(np.array(X, dtype=float)).to(self.linear[0].weight)
            for layer in layers:
                h = layer(h)
            out = h.double().cpu().numpy()
        return np.asarray(out[:, 0] if out.shape[1] == 1 else out[:, 1] - out[:, 0])

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of classes 0 and 1, shape (S, 2)."""
        logit = self.decision_function(X)
        return np.stack([expit(-logit), expit(logit)], axis=1)

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the likelier class."""
        return (self.decision_function(X) > 0).astype(np.int64)


def network(classifier: TorchClassifier, wanted: int, vote: str) -> NetworkScore:
    """Read the weights; two outputs become their difference."""
    weights = [np.asarray(la.weight.detach().cpu().numpy(), float).T for la in classifier.linear]
    biases = [
        np.zeros(W.shape[1])
        if layer.bias is None
        else np.asarray(layer.bias.detach().cpu().numpy(), float)
        for layer, W in zip(classifier.linear, weights, strict=True)
    ]
    if weights[-1].shape[1] == 2:
        weights[-1] = weights[-1][:, 1:] - weights[-1][:, :1]
        biases[-1] = biases[-1][1:] - biases[-1][:1]
    sign = 1.0 if wanted == 1 else -1.0
    return NetworkScore((*weights[:-1], sign * weights[-1]), (*biases[:-1], sign * biases[-1]))
