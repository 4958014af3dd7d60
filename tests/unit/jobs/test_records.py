from __future__ import annotations

from kg_api.graph.jobs import fresh_job
from tests.support.schema import PROPERTIES


def test_a_fresh_job_has_stored_properties_only() -> None:
    assert fresh_job("source_embedding", "notes", key="k").keys() <= PROPERTIES["Job"]
