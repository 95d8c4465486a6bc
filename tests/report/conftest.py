"""Hand-made records, written to disk and read back as a report finds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from groupcf import records

BOSTON = [
    "CRIM",
    "ZN",
    "INDUS",
    "CHAS",
    "NOX",
    "RM",
    "AGE",
    "DIS",
    "RAD",
    "TAX",
    "PTRATIO",
    "B",
    "LSTAT",
]


def table(
    n: int,
    features: list[str],
    outliers: int = 0,
    categories: Mapping[str, list[str]] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Make an instances table: the first half of the features changes, the rest does not."""
    rng = np.random.default_rng(seed)
    flipped = np.ones(n, dtype=bool)
    flipped[rng.permutation(n)[:outliers]] = False
    out: dict[str, Any] = {
        "row": rng.permutation(10 * n)[:n],
        "counterfactual": np.where(flipped, np.cumsum(flipped) - 1, -1),
        "flipped": flipped,
        "cost": np.where(flipped, rng.random(n), 0.0),
        "score0": -rng.random(n),
        "probability0": 0.5 * rng.random(n),
        "score": np.zeros(n),
        "probability": np.full(n, 0.5),
    }
    for j, name in enumerate(features):
        moves = flipped & (rng.random(n) < 0.7) & (j < (len(features) + 1) // 2)
        if categories and name in categories:
            labels = categories[name]
            before = rng.integers(0, len(labels), n)
            after = np.where(moves, (before + 1) % len(labels), before)
            out[f"from {name}"] = [labels[k] for k in before]
            out[f"to {name}"] = [labels[k] for k in after]
            out[f"diff {name}"] = moves.astype(float)
        else:
            step = np.where(moves, rng.normal(-0.3 if j % 2 else 0.2, 0.2, n), 0.0)
            before = 30 * rng.random(n)
            out[f"from {name}"] = before
            out[f"to {name}"] = before + 30 * step
            out[f"diff {name}"] = step
    return pd.DataFrame(out)


@pytest.fixture
def instances() -> Callable[..., pd.DataFrame]:
    return table


@pytest.fixture
def boston() -> list[str]:
    return BOSTON


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., records.Record]:
    """Return a function that writes a record and reads it back."""

    def record(
        key: str = "k0", frame: pd.DataFrame | None = None, **changes: Any
    ) -> records.Record:
        facts: dict[str, Any] = {
            "study": "fig-2.1",
            "title": "Boston housing, ten instances",
            "chapter": 2,
            "key": key,
            "status": "optimal",
            "dataset": {
                "name": "boston",
                "variant": "published",
                "sha256": "04ea3ed0aa63691c",
                "rows": 506,
                "source": "bundled",
                "notes": ["raw units, scaled by range"],
            },
            "classifier": {
                "name": "logistic",
                "sha256": "c1a551f1e4",
                "accuracy_train": 0.8761,
                "accuracy_test": 0.8562,
            },
            "model": "CEsep",
            "method": "feature search",
            "why": "a linear score",
            "parameters": {"nu": 0.5, "lam_ind": 0.02},
            "objective": 2.126357949,
            "bound": 2.126357949,
            "gap": 0.0,
            "seconds": 0.07,
            "verified": True,
            "verification": {
                "ok": True,
                "checks": [{"name": "valid points", "ok": True, "worst": 0.0, "detail": ""}],
            },
            "host": {"processor": "a processor", "cores": 2},
            "versions": {"numpy": "2.4.0"},
            "commit": "abc123",
            "started": "2026-05-04T13:37:59+00:00",
        }
        if frame is not None:
            names = [c[len("from ") :] for c in frame.columns if c.startswith("from ")]
            counts = {f: int((frame[f"diff {f}"] != 0).sum()) for f in names}
            facts |= {
                "n_instances": len(frame),
                "n_flipped": int(frame["flipped"].sum()),
                "changed_features": {f: c for f, c in counts.items() if c},
                "outliers": frame.loc[~frame["flipped"], "row"].tolist(),
            }
        facts |= changes
        directory = tmp_path / "records" / facts["study"] / key
        records.write(directory, records.Record(**facts), frame)
        return records.load(directory)

    return record


@pytest.fixture
def unsolved(make: Callable[..., records.Record]) -> Callable[..., records.Record]:
    """Return a function that makes a record without an answer."""

    def record(key: str, status: str, **changes: Any) -> records.Record:
        nothing = dict.fromkeys(
            ("objective", "bound", "gap", "verified", "n_instances", "n_flipped")
        )
        return make(key, None, status=status, verification={}, **(nothing | changes))

    return record
