"""From publishers' tables to the published processed ones.

Each function takes a raw table and returns the processed one in the user's own labels and
units; what a classifier sees is the encoding of the data set's feature space.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from groupcf.errors import DataError

NT_PER_USD = 32.75
"""New Taiwan dollars for one US dollar, as the published table converts amounts."""

YES_NO = (
    "schoolsup",
    "famsup",
    "paid",
    "activities",
    "nursery",
    "higher",
    "internet",
    "romantic",
)
"""Students columns that the published preprocessing maps to the constant 1."""


def credit(raw: pd.DataFrame) -> pd.DataFrame:
    """Taiwanese credit: 30000 raw rows -> 29623 x 15 as in the published table.

    Rows whose marital status is neither married nor single are left out. Amounts are in US
    dollars, rounded to tens. A month has zero balance when its payment exceeds its bill,
    low (high) spending when the bill is below 20 % (above 80 %) of the credit limit.
    """
    education = raw.filter(regex="^EDUCATION_").to_numpy().argmax(axis=1)
    marriage = raw.filter(regex="^MARRIAGE_").to_numpy().argmax(axis=1)
    keep = np.isin(marriage, [1, 2])
    raw = raw[keep].reset_index(drop=True)
    education, marriage = education[keep], marriage[keep]
    bills = _usd(raw.filter(regex="^BILL_AMT"))
    payments = _usd(raw.filter(regex="^PAY_AMT"))
    limit = _usd(raw[["LIMIT_BAL"]])
    owed = np.maximum(bills, 0.0)
    delays = raw[["PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"]].to_numpy()
    late = delays > 0
    # a spell of overdue months ends where the month before it was in time
    spells = (late[:, :-1] & ~late[:, 1:]).sum(axis=1) + late[:, -1]
    return pd.DataFrame(
        {
            "NoDefaultNextMonth": 1 - raw["default-payment-next-month"],
            "isMale": (raw["SEX"] == 0).astype(int),
            "isMarried": (marriage == 1).astype(int),
            "AgeGroup": np.digitize(raw["AGE"], [25, 40, 60]) + 1.0,
            "EducationLevel": np.select(
                [education == 1, education == 2, education == 3], [4, 3, 2], 1
            ),
            "MaxBillAmountOverLast6Months": owed.max(axis=1).astype(int),
            "MaxPaymentAmountOverLast6Months": payments.max(axis=1).astype(int),
            "MonthsWithZeroBalanceOverLast6Months": (payments > bills).sum(axis=1),
            "MonthsWithLowSpendingOverLast6Months": (owed / limit < 0.2).sum(axis=1),
            "MonthsWithHighSpendingOverLast6Months": (owed / limit > 0.8).sum(axis=1),
            "MostRecentBillAmount": owed[:, 0].astype(int),
            "MostRecentPaymentAmount": payments[:, 0].astype(int),
            "TotalOverdueCounts": spells,
            "TotalMonthsOverdue": np.maximum(delays, 0).sum(axis=1),
            "HasHistoryOfOverduePayments": late.any(axis=1).astype(int),
        }
    )


def _usd(amounts: pd.DataFrame) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(np.round(amounts.to_numpy(dtype=float) / NT_PER_USD / 10) * 10)


def compas_bundled(raw: pd.DataFrame) -> pd.DataFrame:
    """COMPAS from the bundled one-hot table: 6167 rows instead of 6172.

    Race is only Caucasian or not in that file. All rows occur in the published table.
    """
    age = np.select(
        [raw["age-cat_Less than 25"] == 1, raw["age-cat_25 - 45"] == 1],
        ["Less25", "25-45"],
        "More45",
    )
    return pd.DataFrame(
        {
            "TwoYearRecid": raw["two-year-recid"],
            "AgeGroup": age,
            "Sex": 1 - raw["sex"],
            "PriorsCount": raw["priors-count"],
            "ChargeDegree": raw["c-charge-degree_F"],
            "Race": np.where(raw["race"] == 1, "Caucasian", "not Caucasian"),
        }
    )


GERMAN_COLUMNS = (
    "status_account",
    "duration",
    "credit_history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "installment_rate",
    "status_sex",
    "guarantors",
    "residence_since",
    "property",
    "age",
    "installment_plans",
    "housing",
    "number_credits",
    "job",
    "maintenance_obligors",
    "tel",
    "foreign",
    "class",
)

_GERMAN_ONE_HOT = {
    "status_account": "status",
    "credit_history": "credit-history",
    "purpose": "purpose",
    "savings": "savings",
    "employment": "employment",
    "guarantors": "other-debtors",
    "property": "property",
    "installment_plans": "installment-plans",
    "housing": "housing",
    "job": "skill-level",
    "tel": "telephone",
    "foreign": "foreign-worker",
}
_GERMAN_NUMBERS = {
    "duration": "month",
    "amount": "credit-amount",
    "installment_rate": "investment-as-income-percentage",
    "residence_since": "residence-since",
    "number_credits": "number-of-credits",
    "maintenance_obligors": "people-liable-for",
}


def german_bundled(raw: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """German credit from two bundled tables: one-hot columns, and ages from the labels.

    They give sex, not the published categories of personal status and sex.
    """
    if not (raw["credit-amount"].to_numpy() == labels["credit_amount"].to_numpy()).all():
        raise DataError("german_onehot.csv and german_labels.csv: rows are not in the same order")
    out: dict[str, Any] = {"age": labels["age"].to_numpy()}
    for name, prefix in _GERMAN_ONE_HOT.items():
        dummies = raw.filter(regex=f"^{prefix}_")
        categories = np.array([c.split("_")[-1] for c in dummies.columns])
        out[name] = categories[dummies.to_numpy().argmax(axis=1)]
    for name, column in _GERMAN_NUMBERS.items():
        out[name] = raw[column].to_numpy()
    out["status_sex"] = np.where(raw["sex"] == 1, "male", "female")
    out["class"] = np.where(raw["credit-label"] == 0, 1, 2)
    return pd.DataFrame(out)[list(GERMAN_COLUMNS)]


def students_published(raw: pd.DataFrame) -> pd.DataFrame:
    """Students as published: eight yes/no columns end up as the constant "yes"."""
    out = raw.copy()
    for column in YES_NO:
        out[column] = "yes"
    return out
