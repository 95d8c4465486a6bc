"""Features and their encoding (models.md section 0, "Feature kinds").

A :class:`FeatureSpace` maps a person's own table (columns, categories, units) to the
numeric columns in which distances are measured, and back. A nominal feature occupies one
column per category, exactly one of them 1, but it is *one* feature: a change of category
counts once and is charged once.
"""

from __future__ import annotations

from groupcf.features.feature import Direction, Feature, Kind
from groupcf.features.space import CHANGE_TOLERANCE, FeatureSpace

__all__ = ["CHANGE_TOLERANCE", "Direction", "Feature", "FeatureSpace", "Kind"]
