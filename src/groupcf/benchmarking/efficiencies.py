"""The short call for efficiencies alone."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from groupcf.benchmarking.benchmark import Benchmark


def efficiency(
    frame: pd.DataFrame,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    rts: str = "crs",
    orientation: str = "input",
) -> pd.Series[float]:
    """Return Farrell's efficiency of every unit.

    Parameters
    ----------
    frame : DataFrame of K rows
        The index names the units.
    inputs, outputs : sequence of str
        Columns of `frame`; non-negative numbers in any unit of measurement.
    rts : {"crs", "vrs", "drs", "irs", "fdh"}
        Returns to scale: constant, variable, non-increasing, non-decreasing; or the free
        disposal hull.
    orientation : {"input", "output"}
        "input": the smallest E such that E times the inputs would do, at most 1. "output": the
        largest F such that F times the outputs could be made, at least 1.

    Returns
    -------
    Series of K numbers

    Raises
    ------
    DataError, ConfigError
        For input that makes no sense; the message names column and row.

    Examples
    --------
    >>> import pandas as pd
    >>> firms = pd.DataFrame({"x": [2.0, 4.0, 8.0], "y": [1.0, 4.0, 6.0]}, index=["a", "b", "c"])
    >>> efficiency(firms, inputs=["x"], outputs=["y"]).tolist()
    [0.5, 1.0, 0.75]
    """
    return Benchmark(frame, inputs=inputs, outputs=outputs, rts=rts).efficiency(orientation)
