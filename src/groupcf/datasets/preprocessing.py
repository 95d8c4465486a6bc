"""From publishers' tables to the published processed ones.

Each function takes a raw table and returns the processed one in the user's own labels and
units; what a classifier sees is the encoding of the data set's feature space.
"""

from __future__ import annotations

import io

import numpy as np
import pandas as pd

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


def compas(raw: pd.DataFrame) -> pd.DataFrame:
    """COMPAS: 7214 raw rows -> 6172 x 6 as in the published table.

    ProPublica's own filter: charges within 30 days of the screening, a known outcome, no
    ordinary traffic offence.
    """
    raw = raw[
        raw["days_b_screening_arrest"].between(-30, 30)
        & (raw["is_recid"] != -1)
        & (raw["c_charge_degree"] != "O")
        & raw["score_text"].notna()
    ].reset_index(drop=True)
    ages = {"Less than 25": "Less25", "25 - 45": "25-45", "Greater than 45": "More45"}
    return pd.DataFrame(
        {
            "TwoYearRecid": raw["two_year_recid"],
            "AgeGroup": raw["age_cat"].map(ages),
            "Sex": (raw["sex"] == "Female").astype(int),
            "PriorsCount": raw["priors_count"],
            "ChargeDegree": (raw["c_charge_degree"] == "F").astype(int),
            "Race": raw["race"],
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

_GERMAN_CODES = {
    "status_account": "A1",
    "credit_history": "A3",
    "purpose": "A4",
    "savings": "A6",
    "employment": "A7",
    "status_sex": "A9",
    "guarantors": "A10",
    "property": "A12",
    "installment_plans": "A14",
    "housing": "A15",
    "job": "A17",
    "tel": "A19",
    "foreign": "A20",
}
# these two attributes count their categories from 0, all others from 1
_FROM_ZERO = ("credit_history", "purpose")


def german(raw: bytes) -> pd.DataFrame:
    """German credit: OpenML's table of labels -> 1000 x 21 in the publisher's codes.

    The codes (A11, A12, ...) number the categories in the order in which the attribute
    declares them.
    """
    from scipy.io import arff

    table, attributes = arff.loadarff(io.StringIO(raw.decode()))
    out = {}
    for name, attribute in zip(GERMAN_COLUMNS, attributes.names(), strict=True):
        values = table[attribute]
        kind, labels = attributes[attribute]
        if kind == "numeric":
            out[name] = values.astype(np.int64)
            continue
        order = {label.encode(): i for i, label in enumerate(labels)}
        codes = np.array([order[v] for v in values]) + (name not in _FROM_ZERO)
        prefix = _GERMAN_CODES.get(name)
        out[name] = codes if prefix is None else np.array([f"{prefix}{c}" for c in codes])
    return pd.DataFrame(out)


def students_published(raw: pd.DataFrame) -> pd.DataFrame:
    """Students as published: eight yes/no columns end up as the constant "yes"."""
    out = raw.copy()
    for column in YES_NO:
        out[column] = "yes"
    return out
