"""The classifier stage: train on the published split, keep the model and its accuracy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from groupcf.classifiers import Classifier, load, save, train
from groupcf.classifiers.training import VOTES
from groupcf.datasets import train_test_rows
from groupcf.datasets.sources import write_atomically
from groupcf.pipeline import data as data_stage
from groupcf.pipeline.config import TEST_SHARE


def train_classifier(
    name: str, data_path: Path, out: Path, *, test_share: float = TEST_SHARE
) -> None:
    """Train one classifier; write ``<out>`` (JSON) and the model beside it (joblib)."""
    data = data_stage.read(data_path)
    if isinstance(data, str):
        _write(out, {"name": name, "skipped": data})
        return
    fit, held_out = train_test_rows(data, test_share)
    # XGBoost takes no labels but 0 and 1, and to all others they are as good as -1 and +1
    wanted = (data.y == 1).astype(int)
    estimator = train(name, data.X[fit], wanted[fit])
    classifier = Classifier(estimator, data.space, 1, vote=VOTES.get(name, "soft"))
    checksum = save(classifier, out.with_suffix(".joblib"))

    def accuracy(rows: np.ndarray[Any, np.dtype[np.int64]]) -> float:
        return float((classifier.predict_wanted(data.X[rows]) == wanted[rows]).mean())

    _write(
        out,
        {
            "name": name,
            "test_share": test_share,
            "estimator": type(estimator).__name__,
            "file_sha256": checksum,
            "sha256": classifier.checksum(),
            "accuracy_train": accuracy(fit),
            "accuracy_test": accuracy(held_out),
            "score_error": classifier.score_error(data.X),
        },
    )


def read_classifier(path: Path) -> tuple[Classifier, dict[str, Any]] | str:
    """Read what :func:`train_classifier` wrote, or why it is skipped."""
    described = json.loads(path.read_text(encoding="utf-8"))
    if "skipped" in described:
        return str(described["skipped"])
    model = load(path.with_suffix(".joblib"), sha256=described["file_sha256"])
    return model, described


def _write(path: Path, description: dict[str, Any]) -> None:
    text = json.dumps(description, indent=1, ensure_ascii=False)
    write_atomically(path, (text + "\n").encode())
