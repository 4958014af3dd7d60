"""Whatever workers, people and accidents do to jobs, in any order: the database does what the model does.

Invariants: one owner a job (G4), work goes on from its cursor (G9), what died can be seen and tried again
(G17), progress never falls but by a retry and is never above its total (G21).
"""

from __future__ import annotations

import neo4j
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from kg_api.graph.database import Graph
from tests.graph.job_machine import Machine

SHORT = settings(
    max_examples=30,
    stateful_step_count=40,
    derandomize=True,
    phases=[Phase.generate],  # to shrink a failure takes five minutes: run the long one for that
)
LONG = settings(max_examples=400, stateful_step_count=80)


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(SHORT, id="short"),
        pytest.param(LONG, id="long", marks=[pytest.mark.full, pytest.mark.timeout(3600)]),
    ],
)
def test_jobs_are_as_the_model_whatever_happens(
    migrated_graph: Graph, driver: neo4j.Driver, size: settings
) -> None:
    patient = settings(size, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])

    class OnTheDatabase(Machine):
        def __init__(self) -> None:
            super().__init__(migrated_graph, driver)

    run_state_machine_as_test(OnTheDatabase, settings=patient)
