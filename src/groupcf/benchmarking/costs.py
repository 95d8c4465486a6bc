"""What a change costs: nu0 l0 + nu1 l1 + nu2 l2 squared, or one after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupcf.errors import ConfigError

Floats = NDArray[np.float64]
_TERM = re.compile(r"(?:([0-9.]+(?:e[+-]?[0-9]+)?)\*?)?(l[012])")


@dataclass(frozen=True)
class TargetCost:
    """Cost of moving from x0 to x (models.md section 6).

    With u = (x - x0) / scale and weights w, an input's weight counts for all that it costs::

        l0 * sum w_i [u_i != 0]  +  l1 * sum w_i |u_i|  +  l2 * sum w_i u_i^2

    Attributes
    ----------
    l0, l1, l2 : float
        nu0, nu1, nu2; not negative, not all zero.
    then_l1, then_l2 : float
        A second cost that decides among the least costly changes: ``l0+(l2)``.
    radial : bool
        The Farrell target, in which all goods change by the same share; not a least cost.
    """

    l0: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    then_l1: float = 0.0
    then_l2: float = 0.0
    radial: bool = False

    def __post_init__(self) -> None:
        for name in ("l0", "l1", "l2", "then_l1", "then_l2"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ConfigError(f"cost: {name} = {value!r} is not a non-negative number")
        if self.radial == bool(self.l0 + self.l1 + self.l2):
            raise ConfigError("cost: give a positive l0, l1 or l2, or radial alone")
        if self.then_l1 + self.then_l2 > 0 and (self.l1 + self.l2 > 0 or self.l0 == 0):
            raise ConfigError("cost: a second cost goes with l0 alone, as in 'l0+(l2)'")

    @classmethod
    def parse(cls, text: str | TargetCost) -> TargetCost:
        """Read "farrell", "l0", "l1", "l2", "l0+l2", "0.5*l0+l1+2*l2", "l0+(l2)".

        l2 stands for the squared Euclidean norm. l0 alone leaves open how far the inputs
        change; it is read as ``l0+(l2)``.

        Raises
        ------
        ConfigError
            For anything else.
        """
        if isinstance(text, TargetCost):
            return text
        if not isinstance(text, str):
            raise ConfigError(f"cost: give a text or a TargetCost, not {text!r}")
        plain = text.replace(" ", "").lower()
        if plain == "farrell":
            return cls(radial=True)
        second = re.fullmatch(r"(.*)\+\((.+)\)", plain)
        parts = {"": plain} if second is None else {"": second[1], "then_": second[2]}
        numbers: dict[str, float] = {}
        for prefix, sum_of in parts.items():
            for term in sum_of.split("+"):
                match = _TERM.fullmatch(term)
                name = "" if match is None else prefix + match[2]
                if match is None or name == "then_l0" or name in numbers:
                    raise ConfigError(
                        f"cost: {text!r} is not understood; give 'farrell' or a sum of l0, l1 "
                        "and l2, such as 'l0+l2', '0.5*l0+l1' or 'l0+(l2)'"
                    )
                numbers[name] = float(match[1] or 1.0)
        if set(numbers) == {"l0"}:
            numbers["then_l2"] = 1.0
        return cls(
            l0=numbers.get("l0", 0.0),
            l1=numbers.get("l1", 0.0),
            l2=numbers.get("l2", 0.0),
            then_l1=numbers.get("then_l1", 0.0),
            then_l2=numbers.get("then_l2", 0.0),
        )

    @property
    def lexicographic(self) -> bool:
        """Whether a second cost decides among the least costly changes."""
        return self.then_l1 + self.then_l2 > 0

    def __str__(self) -> str:
        if self.radial:
            return "farrell"

        def total(prefix: str) -> str:
            terms = ((n, getattr(self, prefix + n)) for n in ("l0", "l1", "l2") if n or prefix)
            return "+".join(n if v == 1 else f"{v:g}*{n}" for n, v in terms if v > 0)

        if not self.lexicographic:
            return total("")
        second = "+".join(
            n if v == 1 else f"{v:g}*{n}"
            for n, v in (("l1", self.then_l1), ("l2", self.then_l2))
            if v > 0
        )
        return f"{total('')}+({second})"

    def of(self, u: Floats, weights: Floats) -> tuple[float, float]:
        """Return the cost and the second cost of scaled changes, both of shape (n,)."""
        size = np.abs(u)
        l0, l1, l2 = (
            float(weights @ (size > 0)),
            float(weights @ size),
            float(weights @ size**2),
        )
        first = self.l0 * l0 + self.l1 * l1 + self.l2 * l2
        return first, self.then_l1 * l1 + self.then_l2 * l2


def read_weights(
    weights: Mapping[str, float] | None, names: tuple[str, ...], key: str = "weights"
) -> Floats:
    """Return a positive number for each column; 1 where none is given.

    Raises
    ------
    ConfigError
        For an unknown column or a number that is not positive.
    """
    values = np.ones(len(names))
    if weights is not None and not isinstance(weights, Mapping):
        raise ConfigError(f"{key}: give a mapping of columns to numbers, not {weights!r}")
    for name, value in (weights or {}).items():
        if name not in names:
            raise ConfigError(f"{key}: {name!r} is not among the columns that may change")
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not (np.isfinite(number) and number > 0):
            raise ConfigError(f"{key}: {value!r} for {name!r} is not a positive number")
        values[names.index(name)] = number
    return values
