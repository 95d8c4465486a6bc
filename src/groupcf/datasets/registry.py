"""The registered data files: publisher, terms, citation, checksum."""

from __future__ import annotations

import io

import pandas as pd

from groupcf.datasets.sources import Download, Origin, SourceFile

_ARCHIVE = "https://www.timeseriesclassification.com"

STATLIB = Origin(
    "StatLib, Carnegie Mellon University",
    "http://lib.stat.cmu.edu/datasets/boston",
    "public domain",
    "Harrison and Rubinfeld, Journal of Environmental Economics and Management 5 (1978) 81-102",
)
PROPUBLICA = Origin(
    "ProPublica",
    "https://github.com/propublica/compas-analysis",
    "published for free use",
    "Angwin, Larson, Mattu and Kirchner, Machine Bias, ProPublica (2016)",
)
UCI_CREDIT = Origin(
    "UCI Machine Learning Repository 350",
    "https://archive.ics.uci.edu/dataset/350/default+of+credit+card+clients",
    "CC BY 4.0",
    "Yeh and Lien, Expert Systems with Applications 36 (2009) 2473-2480",
)
UCI_STUDENTS = Origin(
    "UCI Machine Learning Repository 320",
    "https://archive.ics.uci.edu/dataset/320/student+performance",
    "CC BY 4.0",
    "Cortez and Silva, Using data mining to predict secondary school student performance (2008)",
)
UCI_GERMAN = Origin(
    "UCI Machine Learning Repository 144",
    "https://archive.ics.uci.edu/dataset/144/statlog+german+credit+data",
    "CC BY 4.0",
    "Hofmann, Statlog (German credit data), UCI Machine Learning Repository (1994)",
)
UCR_ARCHIVE = Origin(
    "UCR time series classification archive",
    _ARCHIVE,
    "free use with citation",
    "Dau et al., IEEE/CAA Journal of Automatica Sinica 6 (2019) 1293-1305",
)
UEA_ARCHIVE = Origin(
    "UEA multivariate time series classification archive",
    _ARCHIVE,
    "free use with citation",
    "Bagnall et al., The UEA multivariate time series classification archive (2018)",
)
DEALIB = Origin("dealib 1.0.0", "", "MIT", "")


def students_table(raw: bytes) -> bytes:
    """Turn UCI's student-mat.csv into the published table: passing is a final grade of 12."""
    frame = pd.read_csv(io.BytesIO(raw), sep=";")
    frame["Class"] = (frame.pop("G3") >= 12).astype(int)
    frame = frame.drop(columns=["G1", "G2"])
    return frame.to_csv(index=False, lineterminator="\r\n").encode()


def _zipped(name: str, member: str) -> Download:
    return Download(f"{_ARCHIVE}/aeon-toolkit/{name}.zip", (member,))


def archive_file(name: str, member: str) -> SourceFile:
    """Describe a file of the UCR and UEA archives that has no registered checksum."""
    return SourceFile(member, None, UCR_ARCHIVE, _zipped(name, member))


_REGISTERED = (
    SourceFile(
        "boston_house_prices.csv",
        "04ea3ed0aa63691cfedf388349eafc1213e91e00f8e4d31747534692c0f1ce02",
        STATLIB,
    ),
    SourceFile(
        "compas-scores-two-years-columns.csv",
        "267b5a195ff4c6e2ffbb70cc8399a9fede3af95a28f745fcd4cec6d929ac57dd",
        PROPUBLICA,
    ),
    SourceFile(
        "UCI_Credit_Card.csv",
        "af36211f57585cff1a7a788ef3e0d52aecfac301893acaa7373d7f7d72a7f9d5",
        UCI_CREDIT,
    ),
    SourceFile(
        "Students-Performance-MAT.csv",
        "1a1fb70ee73933bd3e979065f368796872fc59e9818937703d6d4cc35cbf307d",
        UCI_STUDENTS,
        Download(
            "https://archive.ics.uci.edu/static/public/320/student+performance.zip",
            ("student.zip", "student-mat.csv"),
            students_table,
        ),
    ),
    SourceFile(
        "credit-g.arff",
        "77024f6bfb341d859c1fd4aaca12fab143bcb1f1d12bc557b2e8fd494b1080dc",
        UCI_GERMAN,
    ),
    SourceFile(
        "ItalyPowerDemand_TRAIN.ts",
        "341269cb7e6cef96846b30e774580beec79addb93848ba360145219115a74b7c",
        UCR_ARCHIVE,
    ),
    SourceFile(
        "ItalyPowerDemand_TEST.ts",
        "26122451f87dd0387ef90b18bc8a86c041371b8a1c068004922b939971247144",
        UCR_ARCHIVE,
    ),
    SourceFile(
        "BasicMotions_TRAIN.ts",
        "8dc43cc6306cb679c888c01e26f91772ac4441a916da43bac8b79734a538b9d6",
        UEA_ARCHIVE,
    ),
    SourceFile(
        "BasicMotions_TEST.ts",
        "79213102bc6fca1a398ad98ce1185dff0208fa3d1465e687f48288946b0ff8dc",
        UEA_ARCHIVE,
    ),
    SourceFile(
        "NATOPS_TRAIN.ts",
        "3567f0aa297e89327215ee1147537e06f7bdc51f48ac8d2c39aaa34fb1eab1b7",
        UEA_ARCHIVE,
        _zipped("NATOPS", "NATOPS_TRAIN.ts"),
    ),
    SourceFile(
        "NATOPS_TEST.ts",
        "3a9a41a948c30d19db6b9e0ec44d946d42199c4f8724c2aa6e8b71b28612404e",
        UEA_ARCHIVE,
        _zipped("NATOPS", "NATOPS_TEST.ts"),
    ),
    SourceFile(
        "banks1.csv",
        "26f278b416abd56dee80305980d45100ab260f4b7465c2ffcd011b9554c20058",
        DEALIB,
    ),
    SourceFile(
        "banks1_efficiency_reference.csv",
        "19b1059ab08bfb7be26a836c3af18b4ea20025e92c87a4fd4a1a04eefcb30cbd",
        DEALIB,
    ),
)

FILES: dict[str, SourceFile] = {file.name: file for file in _REGISTERED}
"""All registered files by name."""
