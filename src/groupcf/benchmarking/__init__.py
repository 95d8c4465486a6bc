"""Efficiency targets in benchmarking: data envelopment analysis without big-M (chapter 4)."""

from groupcf.benchmarking.benchmark import Benchmark
from groupcf.benchmarking.costs import TargetCost
from groupcf.benchmarking.efficiencies import efficiency
from groupcf.benchmarking.results import Target, TargetsResult
from groupcf.benchmarking.targets import targets

__all__ = ["Benchmark", "Target", "TargetCost", "TargetsResult", "efficiency", "targets"]
