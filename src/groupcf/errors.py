"""Typed errors: each names what is wrong (column, row, key) and says what to do."""

from __future__ import annotations


class GroupcfError(Exception):
    """Base class of every error that groupcf raises on purpose."""


class DataError(GroupcfError, ValueError):
    """A table does not fit its description; the message names column and row."""


class FeatureError(GroupcfError, ValueError):
    """A feature description is contradictory; the message names the feature."""


class ConfigError(GroupcfError, ValueError):
    """A setting is unknown or out of range; the message names the key."""


class ClassifierError(GroupcfError, ValueError):
    """A classifier cannot be trained or turned into a score model."""


class SourceUnavailableError(GroupcfError, RuntimeError):
    """A data file is in none of the places where it may be looked for."""


class ChecksumError(GroupcfError, RuntimeError):
    """A data file does not have the registered SHA-256."""


class UnsupportedProblemError(GroupcfError, ValueError):
    """No method solves this combination of options; the message names it."""


class SolverUnavailableError(GroupcfError, RuntimeError):
    """A solver is not installed or its licence does not carry the model."""


class SolverCrashedError(GroupcfError, RuntimeError):
    """A solver ended its process; the message carries signal and last output."""
