"""What tests of the graph share."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from kg_api.graph.database import Graph
from kg_api.graph.documents import store_document
from tests.support.kg import TEXTS, Kg
from tests.support.records import record


@pytest.fixture
def kg(graph: Graph) -> Generator[Kg]:
    made = Kg(graph)
    store_document(graph, record("a.md", TEXTS))
    made.work()
    yield made
    made.spaces.close()
