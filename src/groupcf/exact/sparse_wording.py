"""What a solution of sparse one-for-many says about itself: clusters, limits, and who is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from groupcf.exact.column_generation import Journal
from groupcf.exact.sparse_group import Group
from groupcf.exact.sparse_selection import Selection

_NAMED = 10


def unreachable(group: Group) -> dict[str, Any]:
    """Return the instances that J_max does not reach, and what each would need."""
    instances = np.flatnonzero(np.isin(group.table.row, list(group.least))).tolist()
    rows = group.table.row[instances].tolist()
    facts: dict[str, Any] = {
        "unreachable": instances,
        "least_max_changed": [group.least[row] for row in rows],
    }
    if group.undecided:
        open_rows = np.flatnonzero(np.isin(group.table.row, group.undecided)).tolist()
        facts["reach_undecided"] = open_rows
    return facts


def unreachable_text(group: Group, facts: dict[str, Any]) -> str:
    """Say which instances are out of reach, and what would reach them."""
    instances, least = facts["unreachable"], facts["least_max_changed"]
    needs = [
        f"{i} (needs {'more than is permitted' if k is None else k})"
        for i, k in zip(instances[:_NAMED], least[:_NAMED], strict=True)
    ]
    more = f" and {len(instances) - _NAMED} more" if len(instances) > _NAMED else ""
    who = "no instance reaches" if not len(group.rows) else f"{len(instances)} do not reach"
    text = f"{who} the wanted class with {group.table.max_changed} changed features"
    return f"{text}: instances {', '.join(needs)}{more}; raise max_changed or lower nu"


def clusters(group: Group, chosen: Selection) -> dict[str, Any]:
    """Return facts by cluster: features that its members change, its size, changes in all."""
    names = group.table.space.names
    differ = group.search.board.codes[None] != chosen.clusters.points[:, None]
    changed = (differ & chosen.clusters.members[:, :, None]).sum(axis=2)
    return {
        "clusters": [
            {
                "features": [names[j] for j in np.flatnonzero(features)],
                "size": int(group.multiplicity[members].sum()),
                "changes": int((changes * group.multiplicity).sum()),
            }
            for members, features, changes in zip(
                chosen.clusters.members, chosen.clusters.features, changed, strict=True
            )
        ],
        "changes": chosen.changes,
        "choice": {"proven": chosen.proven, "offered": chosen.offered},
    }


def message(
    group: Group, chosen: Selection, facts: dict[str, Any], journal: Journal, remark: str
) -> str:
    """Say how many clusters there are, what is proven, and what is left open."""
    count = len(chosen.clusters)
    served = int(group.multiplicity.sum())
    text = f"{count} counterfactuals for {served} instances"
    if journal.closed:
        text += ", proven the fewest"
    else:
        text += f"; at least {journal.least} are needed, more was not proven"
        text += f" ({remark})" if remark else " within the limits"
    if facts["unreachable"]:
        text += "; " + unreachable_text(group, facts)
    return text
