"""The all-discrete tables of the column-generation study (studies.md, tab-2.10 to 2.15)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from groupcf.features import Feature, FeatureSpace, Kind
from groupcf.features.feature import plain

_GERMAN_CUTS = {
    "duration": 18,
    "amount": 2319.5,
    "installment_rate": 3,
    "residence_since": 3,
    "age": 33,
    "number_credits": 1,
    "maintenance_obligors": 1,
}


def compas(frame: pd.DataFrame) -> pd.DataFrame:
    """COMPAS with prior counts in four bins."""
    bins = np.array(["0", "1", "2-3", ">3"])
    out = frame[["Race", "AgeGroup"]].copy()
    out["PriorsCount"] = bins[np.digitize(frame["PriorsCount"], [1, 2, 4])]
    out["Sex"] = frame["Sex"]
    out["ChargeDegree"] = frame["ChargeDegree"]
    return out


def students(frame: pd.DataFrame) -> pd.DataFrame:
    """Students with age and absences in three bins, failures as none or some."""
    out = frame.copy()
    out["age"] = np.array(["15-16", "17", "18+"])[np.digitize(frame["age"], [17, 18])]
    out["absences"] = np.array(["0", "1-10", ">10"])[np.digitize(frame["absences"], [1, 11])]
    out["failures"] = np.where(frame["failures"] > 0, "some", "none")
    return out


def german(frame: pd.DataFrame) -> pd.DataFrame:
    """German credit with each number cut in two: at most the cut, or above it."""
    out = frame.copy()
    for name, cut in _GERMAN_CUTS.items():
        out[name] = np.where(frame[name] > cut, f">{cut:g}", f"<={cut:g}")
    return out


def space(frame: pd.DataFrame) -> FeatureSpace:
    """Return the space in which two-valued columns are binary and all others one-hot.

    The eight columns that the published students preprocessing leaves constant at "yes" are
    binary, as their originals.
    """
    nominal, binary = [], []
    for name in frame.columns:
        values = tuple(sorted(plain(v) for v in frame[name].unique()))
        if len(values) > 2:
            nominal.append(Feature(name, Kind.NOMINAL, categories=values))
        else:
            binary.append(
                Feature(name, Kind.BINARY, categories=values if len(values) == 2 else ("no", "yes"))
            )
    return FeatureSpace((*nominal, *binary))
