"""The registered data files: checksum, licence, publisher."""

from __future__ import annotations

import io

import pandas as pd

from groupcf.datasets.sources import Publisher, SourceFile

_UCI = "https://archive.ics.uci.edu/static/public/"
_UEA = "https://www.timeseriesclassification.com/aeon-toolkit/"


def _students(raw: bytes) -> bytes:
    """UCI's student-mat.csv -> the published table: passing means a final grade of 12."""
    frame = pd.read_csv(io.BytesIO(raw), sep=";")
    frame["Class"] = (frame.pop("G3") >= 12).astype(int)
    frame = frame.drop(columns=["G1", "G2"])
    return frame.to_csv(index=False, lineterminator="\n").encode()


def _compas(raw: bytes) -> bytes:
    """ProPublica's two-year table -> the published one, after ProPublica's own filter."""
    frame = pd.read_csv(io.BytesIO(raw))
    frame = frame[
        frame["days_b_screening_arrest"].between(-30, 30)
        & (frame["is_recid"] != -1)
        & (frame["c_charge_degree"] != "O")
        & frame["score_text"].notna()
    ]
    ages = {"Less than 25": "Less25", "25 - 45": "25-45", "Greater than 45": "More45"}
    out = pd.DataFrame(
        {
            "TwoYearRecid": frame["two_year_recid"],
            "AgeGroup": frame["age_cat"].map(ages),
            "Sex": (frame["sex"] == "Female").astype(int),
            "PriorsCount": frame["priors_count"],
            "ChargeDegree": (frame["c_charge_degree"] == "F").astype(int),
            "Race": frame["race"],
        }
    )
    text = out.to_csv(index=False, sep=";", lineterminator="\n")
    return b"\xef\xbb\xbf" + text.encode()


_REGISTERED = (
    SourceFile(
        "boston_house_prices.csv",
        "04ea3ed0aa63691cfedf388349eafc1213e91e00f8e4d31747534692c0f1ce02",
        "StatLib, public domain",
    ),
    SourceFile(
        "compas_processed.csv",
        "0654f749330cc26eeb791fea1fabb221da40e99d6af03d551aff0e1e79ebf9b3",
        "ProPublica, free use",
        Publisher(
            "https://raw.githubusercontent.com/propublica/compas-analysis/master/"
            "compas-scores-two-years.csv",
            convert=_compas,
        ),
    ),
    SourceFile(
        "compas_recidivism.csv",
        "c026e705c07e1b7fe6bb4dd34b654aeaf0dae30793b13b95ab269077f9131eea",
        "ProPublica, free use",
    ),
    SourceFile(
        "UCI_Credit_Card.csv",
        "af36211f57585cff1a7a788ef3e0d52aecfac301893acaa7373d7f7d72a7f9d5",
        "CC BY 4.0",
    ),
    SourceFile(
        "credit_processed.csv",
        "dbea33e50389fec9dea630f043520eedbcf53a8364467f92f706ad0e95e2ba18",
        "CC BY 4.0",
    ),
    SourceFile(
        "Students-Performance-MAT.csv",
        "1a1fb70ee73933bd3e979065f368796872fc59e9818937703d6d4cc35cbf307d",
        "CC BY 4.0",
        Publisher(
            f"{_UCI}320/student+performance.zip", ("student.zip", "student-mat.csv"), _students
        ),
    ),
    SourceFile(
        "german.data",
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        "CC BY 4.0",
        Publisher(f"{_UCI}144/statlog+german+credit+data.zip", ("german.data",)),
    ),
    SourceFile(
        "german_onehot.csv",
        "04afd1522a1fcbf0218e3b5040899735f480bacd773aadc5f6e696dc1ca5a3dd",
        "CC BY 4.0",
    ),
    SourceFile(
        "german_labels.csv",
        "321ff0594e1f887ad6bf05dc51d34c616f1c32dca8c7cdb141434df295f67997",
        "CC BY 4.0",
    ),
    SourceFile(
        "ItalyPowerDemand_TRAIN.ts",
        "341269cb7e6cef96846b30e774580beec79addb93848ba360145219115a74b7c",
        "UCR archive, cite Dau et al. 2019",
    ),
    SourceFile(
        "ItalyPowerDemand_TEST.ts",
        "26122451f87dd0387ef90b18bc8a86c041371b8a1c068004922b939971247144",
        "UCR archive, cite Dau et al. 2019",
    ),
    SourceFile(
        "BasicMotions_TRAIN.ts",
        "8dc43cc6306cb679c888c01e26f91772ac4441a916da43bac8b79734a538b9d6",
        "UEA archive, cite Bagnall et al. 2018",
    ),
    SourceFile(
        "BasicMotions_TEST.ts",
        "79213102bc6fca1a398ad98ce1185dff0208fa3d1465e687f48288946b0ff8dc",
        "UEA archive, cite Bagnall et al. 2018",
    ),
    SourceFile(
        "NATOPS_TRAIN.ts",
        "3567f0aa297e89327215ee1147537e06f7bdc51f48ac8d2c39aaa34fb1eab1b7",
        "UEA archive, cite Bagnall et al. 2018",
        Publisher(f"{_UEA}NATOPS.zip", ("NATOPS_TRAIN.ts",)),
    ),
    SourceFile(
        "NATOPS_TEST.ts",
        "3a9a41a948c30d19db6b9e0ec44d946d42199c4f8724c2aa6e8b71b28612404e",
        "UEA archive, cite Bagnall et al. 2018",
        Publisher(f"{_UEA}NATOPS.zip", ("NATOPS_TEST.ts",)),
    ),
    SourceFile(
        "banks1.csv",
        "26f278b416abd56dee80305980d45100ab260f4b7465c2ffcd011b9554c20058",
        "MIT (dealib)",
    ),
    SourceFile(
        "banks1_efficiency_reference.csv",
        "19b1059ab08bfb7be26a836c3af18b4ea20025e92c87a4fd4a1a04eefcb30cbd",
        "MIT (dealib)",
    ),
)

FILES: dict[str, SourceFile] = {file.name: file for file in _REGISTERED}
"""All registered files by name."""
