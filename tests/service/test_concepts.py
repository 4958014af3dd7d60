import httpx
import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput
from kg_api.graph.client import Graph
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.concepts import Text
from kg_api.schemas.base import build_concept_id
from tests.service.asking import problem
from tests.support.concept_graph import store_concepts
from tests.support.concepts import state
from tests.support.embedding import run_jobs
from tests.support.records import record


def test_several_ontologies_are_searched_by_rest_and_mcp(
    http: httpx.Client, kg: KgClient, graph: Graph, ids: dict[str, str]
) -> None:
    """Finding A10: kg mcp used to sort scores from different searches."""
    other = record("other.md", ["Bees of the other one."], ontology="other")
    store_concepts(graph, other, {0: ["Bees", "Bees of the other one"]})
    third = record("third.md", ["Bees again."], ontology="third")
    store_concepts(graph, third, {0: ["Bees"]})
    wanted = ["notes", "other"]
    both = http.get("/concepts/search", params={"query_text": "bees", "ontologies": wanted}).json()
    assert {each["ontology"] for each in both["concepts"]} == set(wanted)
    mixed = {"query_text": "bees", "ontology": "notes", "ontologies": ["other"]}
    assert http.get("/concepts/search", params=mixed).json()["concepts"] == both["concepts"]
    of_client = kg.search_concepts("bees", ontologies=wanted)
    assert [each.model_dump(mode="json") for each in of_client.concepts] == both["concepts"]
    everywhere = {each.ontology for each in kg.search_concepts("bees").concepts}
    assert everywhere == {"notes", "other", "third"}
    with pytest.raises(InvalidInput, match="Omit the parameter"):
        kg.search_concepts("bees", ontologies=[])
    twice = "/concepts/search?query_text=bees&ontology=a&ontology=b"
    assert "duplicate" in problem(http.get(twice), 422)
    assert ids


LEASE, LEASES = (build_concept_id("notes", each) for each in ("lease", "leases of workers"))


def always(_one: Text, _other: Text) -> bool:
    return True


@pytest.fixture
def merged(kg: KgClient, graph: Graph) -> KgClient:
    kg.ingest_text("A lease ends by itself.", ontology="notes", document="a.md")
    kg.ingest_text("Each lease has a fence; leases of workers are short.", ontology="notes", document="b.md")
    kg.set_extraction_config("notes", extractor="none")
    run_jobs(graph)
    state(graph, "a.md", [("lease", "A lease ends by itself")])
    told = [("lease", "Each lease has a fence"), ("leases of workers", "leases of workers are short")]
    state(graph, "b.md", told)
    assert merge_concepts(graph, (LEASE, LEASES), always, "plural", 0.9123) == LEASE
    return kg


def test_a_merge_is_listed_and_undone(merged: KgClient) -> None:
    (record,) = merged.concept_merges("notes").merges
    assert (record.into, record.merged, record.sources) == ("lease", "leases of workers", 1)
    assert (record.reason, record.similarity, record.undone_at) == ("plural", 0.9123, None)
    assert merged.concept_merges("notes", concept_id=LEASE).total == 1
    assert merged.concept_merges("notes", concept_id=LEASE[:8]).total == 1
    assert "leases of workers" in merged.concept(LEASE).search_terms
    undone = merged.undo_concept_merge("notes", record.merge_id, by="Ada")
    assert (undone.undone_by, undone.undone_at is not None) == ("Ada", True)
    assert merged.undo_concept_merge("notes", record.merge_id, by="Bob").undone_by == "Ada"
    parted = merged.concept(LEASES)
    assert [each.quote for each in parted.evidence] == ["leases of workers are short"]
    assert merged.concept(LEASE).search_terms == []
    assert [each.undone_by for each in merged.concept_merges("notes").merges] == ["Ada"]
