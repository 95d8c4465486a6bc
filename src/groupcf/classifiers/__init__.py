"""Classifiers: training, and score models of fitted estimators (models.md section 0).

:func:`as_score` turns a fitted estimator or Pipeline into a score model on the encoded
columns of a feature space; :class:`Classifier` keeps both together.
"""

from __future__ import annotations

from groupcf.classifiers.classifier import Classifier
from groupcf.classifiers.conversion import as_score
from groupcf.classifiers.networks import NetworkScore
from groupcf.classifiers.scores import LinearScore, Link, Score
from groupcf.classifiers.storage import load, save
from groupcf.classifiers.training import train
from groupcf.classifiers.trees import Leaf, TreeEnsembleScore

__all__ = [
    "Classifier",
    "Leaf",
    "LinearScore",
    "Link",
    "NetworkScore",
    "Score",
    "TreeEnsembleScore",
    "as_score",
    "load",
    "save",
    "train",
]
