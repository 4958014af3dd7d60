"""That documents of the same text are found by it, also where the planner knows of no documents yet."""

from __future__ import annotations

import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import storing
from tests.support.cypher import STATEMENTS
from tests.support.records import record


def test_a_first_batch_is_not_compared_with_all_documents(graph: Graph, driver: neo4j.Driver) -> None:
    """It was a walk over the ontology for each text: 40 s for 3,200 documents in one transaction."""
    records = [record(f"{at}.md", [f"text {at}"]) for at in range(100)]
    graph.transaction(storing(records))
    asked = {
        "ontology": "notes",
        "texts": [each.text_hash for each in records],
        "ours": [each.document_id for each in records],
        "limit": 3,
    }
    statement = STATEMENTS["documents/of_same_text"].partition("\n")[2]
    with driver.session() as session:
        told = session.run("CYPHER replan=force PROFILE " + statement, asked).consume()  # pyright: ignore[reportArgumentType]
    plan = str(told.profile["args"]["string-representation"] if told.profile else "")
    assert "document_by_text" in plan
    assert "document_by_name" not in plan
