"""Torch networks: the conversion with a stand-in, the forward pass where torch is there."""

from __future__ import annotations

import numpy as np
import pytest

from groupcf.classifiers import Classifier, NetworkScore
from groupcf.classifiers.torch_models import TorchClassifier, network
from groupcf.errors import ClassifierError


class Tensor(np.ndarray):
    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)


class Linear:
    def __init__(self, rng, n_in, n_out, bias=True):
        self.weight = rng.normal(size=(n_out, n_in)).view(Tensor)
        self.bias = rng.normal(size=n_out).view(Tensor) if bias else None

    def __call__(self, h):
        return h @ np.asarray(self.weight).T + (0 if self.bias is None else np.asarray(self.bias))


class ReLU:
    def __call__(self, h):
        return np.maximum(h, 0)


class Sigmoid:
    def __call__(self, h):
        return 1 / (1 + np.exp(-h))


class Tanh(ReLU):
    pass


class Sequential(list):
    def __call__(self, h):
        for layer in self:
            h = layer(h)
        return h


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("wanted", [0, 1])
@pytest.mark.parametrize("bias", [True, False])
def test_weights_of_a_stand_in(outputs, wanted, bias):
    rng = np.random.default_rng(0)
    body = [Linear(rng, 3, 5, bias), ReLU(), Linear(rng, 5, 4), ReLU(), Linear(rng, 4, outputs)]
    module = Sequential(body)
    X = rng.normal(size=(50, 3))
    out = module(X)
    logit = out[:, 0] if outputs == 1 else out[:, 1] - out[:, 0]
    score = network(TorchClassifier(module), wanted, "soft")
    assert isinstance(score, NetworkScore)
    np.testing.assert_allclose(score.decision(X), logit if wanted else -logit, atol=1e-12)


def test_a_closing_sigmoid_is_the_link():
    rng = np.random.default_rng(1)
    module = Sequential([Linear(rng, 3, 5), ReLU(), Linear(rng, 5, 1), Sigmoid()])
    X = rng.normal(size=(50, 3))
    score = network(TorchClassifier(module), 1, "soft")
    np.testing.assert_allclose(score.link.probability(score.decision(X)), module(X)[:, 0])


@pytest.mark.parametrize(
    ("layers", "match"),
    [
        (lambda r: Sequential([Linear(r, 3, 2), Tanh(), Linear(r, 2, 1)]), "Tanh"),
        (lambda r: Sequential([Linear(r, 3, 2), ReLU()]), "end with a Linear"),
        (lambda r: Sequential([]), "Linear"),
        (lambda r: Sequential([Linear(r, 3, 3)]), "3 outputs"),
        (lambda r: Sequential([Linear(r, 3, 2), Sigmoid()]), "2 outputs"),
        (lambda r: Linear(r, 3, 1), "torch module Linear"),
    ],
)
def test_other_modules_are_refused_by_name(layers, match):
    with pytest.raises(ClassifierError, match=match):
        TorchClassifier(layers(np.random.default_rng(0)))


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_torch_itself(plain_space, outputs, precision):
    torch = pytest.importorskip("torch", reason="torch is an optional extra: groupcf[torch]")
    torch.manual_seed(0)
    nn = torch.nn
    module = nn.Sequential(
        nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, 7), nn.ReLU(), nn.Linear(7, outputs)
    ).to(getattr(torch, precision))
    X = np.random.default_rng(0).normal(size=(200, 4))
    for wanted in (0, 1):
        classifier = Classifier(module, plain_space(4), wanted)
        assert classifier.score_error(X) <= (1e-9 if precision == "float64" else 1e-5)
        own = classifier.probability(X)
        assert ((own > 0.5) == classifier.predict_wanted(X)).all()
    assert len(Classifier(module, plain_space(4), 1).checksum()) == 64
