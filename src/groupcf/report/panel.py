"""One figure of a study: what is drawn, and what is said about it."""

from __future__ import annotations

from dataclasses import dataclass

from groupcf.records import Record


@dataclass(frozen=True)
class Panel:
    """One figure of a study.

    Attributes
    ----------
    name : str
        Stem of its files.
    plot : str
        A key of groupcf.report.figures._DRAW: "changes", "group", "features", "front", ...
    title : str
        Above the axes.
    records : tuple of tuple of Record
        What is drawn: one group of records for each line of a front, otherwise one group.
    parameter : str
        The swept parameter, for "features" and "front".
    caption : str
        Below the figure.
    alt : str
        What the figure shows, in words.
    """

    name: str
    plot: str
    title: str
    records: tuple[tuple[Record, ...], ...]
    parameter: str = ""
    caption: str = ""
    alt: str = ""
