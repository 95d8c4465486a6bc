"""Tiny models, and the solvers that are installed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from groupcf.solvers import SOLVERS, available
from groupcf.solvers.isolation import close


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `solver` with each installed one."""
    if "solver" in metafunc.fixturenames:
        metafunc.parametrize("solver", [name for name in SOLVERS if available(name).ok])


@pytest.fixture(autouse=True, scope="module")
def no_worker_left() -> Iterator[None]:
    yield
    close()


class Models:
    """Makers of small Pyomo models."""

    @staticmethod
    def knapsack(maximise: bool = True):
        """Optimum 15 when maximising (offset 7), -1 when minimising (offset 7)."""
        import pyomo.environ as pyo

        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(4), domain=pyo.Binary)
        worth = 3 * m.x[0] + 4 * m.x[1] + 5 * m.x[2] + m.x[3]
        m.o = pyo.Objective(
            expr=7 + worth if maximise else 7 - worth,
            sense=pyo.maximize if maximise else pyo.minimize,
        )
        m.c = pyo.Constraint(expr=2 * m.x[0] + 3 * m.x[1] + 4 * m.x[2] + m.x[3] <= 6)
        return m

    @staticmethod
    def pair(domain: str, **rows):
        """Two bounded variables x, y of a domain, and a constraint for each relation given."""
        import pyomo.environ as pyo

        m = pyo.ConcreteModel()
        m.x = pyo.Var(domain=getattr(pyo, domain), bounds=(-9, 9))
        m.y = pyo.Var(domain=getattr(pyo, domain), bounds=(-9, 9))
        for name, relation in rows.items():
            setattr(m, name, pyo.Constraint(expr=relation(m.x, m.y)))
        return m

    @staticmethod
    def market_split(rows: int, columns: int, equal: bool = True):
        """Without equality a knapsack that is soon approached and hardly ever closed."""
        import pyomo.environ as pyo

        rng = np.random.default_rng(0)
        a = rng.integers(0, 100, (rows, columns))
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(columns), domain=pyo.Binary)
        body = [sum(int(a[i, j]) * m.x[j] for j in range(columns)) for i in range(rows)]
        half = (a.sum(axis=1) // 2).tolist()
        m.rows = pyo.Constraint(
            range(rows), rule=lambda m, i: body[i] == half[i] if equal else body[i] <= half[i]
        )
        worth = a.sum(axis=0).tolist()
        m.o = pyo.Objective(expr=0 if equal else -sum(worth[j] * m.x[j] for j in range(columns)))
        return m


@pytest.fixture(scope="session")
def models() -> Models:
    return Models()
