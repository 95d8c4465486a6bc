"""groupcf: group counterfactual analysis with proofs."""

from __future__ import annotations

__version__ = "0.1.0"
