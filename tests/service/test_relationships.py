from typing import Any

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.service.conftest import sharing
from tests.support.concepts import state
from tests.support.embedding import run_jobs
from tests.support.running import wait_until

LEASES = [
    "A worker needs a lease before it writes.",
    "Each heartbeat renews the lease, and the worker goes on.",
    "The worker requires a lease for every job, or it Needs another lease.",
]
BEES = "The waggle dance shows the way to flowers."


def store_told(graph: Graph, url: str) -> None:
    with KgClient(url) as kg:
        for number, text in enumerate(LEASES):
            kg.ingest_text(text, ontology="notes", document=f"leases/{number}.md")
        kg.ingest_text(BEES, ontology="bees", document="bees.md")
        run_jobs(graph)
        state(graph, "leases/0.md", relations=[["worker", "needs", "lease"]])
        state(graph, "leases/1.md", relations=[["heartbeat", "renews", "lease"]])
        state(graph, "leases/2.md", relations=[["worker", "Needs", "lease"], ["worker", "requires", "lease"]])
        state(graph, "bees.md", relations=[["waggle dance", "shows", "flowers"]], ontology="bees")
        run_jobs(graph)


shared = sharing(store_told)


def statements(found: Any) -> list[str]:
    return [f"{each.subject.label} {each.type} {each.object.label}" for each in found.relationships]


def test_relationship_is_found_with_quotes_of_its_source(told: KgClient) -> None:
    found = told.search_relationships("each heartbeat renews the lease")
    assert statements(found)[0] == "heartbeat renews lease"
    assert found.degraded == []
    best = found.relationships[0]
    assert (best.ontology, best.space, best.sources, best.confidence) == ("notes", "default", 1, 1.0)
    assert best.similarity > found.relationships[1].similarity
    (evidence,) = best.evidence
    assert evidence.quote == LEASES[1]
    assert evidence.statement == "heartbeat renews lease"
    assert evidence.start is not None
    assert LEASES[1][evidence.start : evidence.end] == evidence.quote
    assert evidence.source.document == "leases/1.md"


def test_filters_leave_nothing_out_that_fits(told: KgClient) -> None:
    assert len(statements(told.search_relationships("the way"))) == 4
    assert statements(told.search_relationships("the way", ontologies=["bees"])) == [
        "waggle dance shows flowers"
    ]
    found = told.search_relationships("the way to flowers", types=["NEEDS"], limit=1)
    assert [each.type.casefold() for each in found.relationships] == ["needs"]
    assert told.search_relationships("flowers", types=["no such type"]).relationships == []
    assert told.search_relationships("the way", min_similarity=1.0).relationships == []


def effects(kg: KgClient, ontology: str) -> list[str]:
    return [each.effect for each in kg.search_relationships("leads", ontologies=[ontology]).degraded]


def test_relationships_without_vectors_are_reported(told: KgClient, graph: Graph) -> None:
    state(graph, "bees.md", relations=[["waggle dance", "leads to", "flowers"]], ontology="bees")
    found = told.search_relationships("leads to flowers", ontologies=["bees"])
    assert "waggle dance leads to flowers" not in statements(found)
    wait_until(
        lambda: any("relationships are still to be embedded" in each for each in effects(told, "bees")), 5
    )
    run_jobs(graph)
    found = told.search_relationships("leads to flowers", ontologies=["bees"])
    assert statements(found) == ["waggle dance leads to flowers"], "what is imported anew replaces"
