import neo4j
import pytest

from kg_api.errors import NotFound
from kg_api.graph.client import Graph
from kg_api.graph.communities import read_details
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.jobs.runner import JobRun
from kg_api.schemas.base import build_document_id
from kg_api.schemas.concepts import ExtractedRelation
from tests.support.communities import BAKERY, HARBOUR, Detecting
from tests.support.concepts import extraction, found, labelled, quote, write
from tests.support.cypher import rows
from tests.support.records import record

STORED = "MATCH (c:Community) RETURN count(*) AS communities"
IDS = "MATCH (c:Concept) RETURN c.label AS label, c.concept_id AS id"


@pytest.fixture
def notes(graph: Graph) -> Detecting:
    made = Detecting(graph)
    made.add_topics()
    return made


def test_concepts_of_same_passages_form_a_named_community(notes: Detecting) -> None:
    notes.work()
    page = notes.page()
    assert notes.labels() == [set(BAKERY), set(HARBOUR)]
    assert [each.size for each in page.communities] == [5, 4]
    assert all(set(each.name.split(", ")) < set(each.labels) for each in page.communities)
    assert (page.total, page.grouped, page.left_out) == (2, 9, 1)
    assert page.concepts == 10, "the hub is left out"
    assert (page.changed, page.notes) == (0, [])
    assert page.computed_at is not None


def test_community_shows_main_concepts_and_passages_with_several(notes: Detecting) -> None:
    alone = record("alone.md", ["Only yeast."])
    store_document(notes.graph, alone)
    write(notes.graph, labelled(alone, 0, "yeast"))
    notes.work()
    bakery, _ = notes.page().communities
    told = notes.service.find("notes", bakery.community_id, concepts=2, passages=50)
    assert [each.label for each in told.concepts] == bakery.labels[:2]
    assert (told.name, told.labels, told.size) == (bakery.name, bakery.labels, bakery.size)
    assert len(told.passages) == 2 * len(BAKERY)
    assert {each.source.document for each in told.passages} == {"bakery.md"}


def test_detection_repeats_only_after_enough_changes(notes: Detecting, driver: neo4j.Driver) -> None:
    assert notes.work() == 1
    before = notes.page()
    assert notes.work() == 0, "nothing has changed"
    notes.add("harbour.md", ("quay", "crane", "container", "ferry"))
    changed = notes.page()
    assert changed.changed > 0.3
    assert {each.name for each in changed.communities} <= {each.name for each in before.communities}
    assert notes.work() == 1
    assert notes.labels() == [set(BAKERY), {"quay", "crane", "container", "ferry"}]
    assert notes.page().communities[0].community_id == before.communities[0].community_id
    assert rows(driver, STORED) == [{"communities": 2}]
    assert Detecting(notes.graph, min_size=5).work() == 1, "other settings"
    assert rows(driver, STORED) == [{"communities": 1}]
    assert notes.labels() == [set(BAKERY)]


def test_interrupted_detection_keeps_the_former_communities(
    notes: Detecting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise RuntimeError("interrupted")

    notes.work()
    before = notes.labels()
    notes.service.detect("notes")
    with monkeypatch.context() as interrupted:
        interrupted.setattr(JobRun, "commit", interrupt)
        notes.work()
    assert notes.labels() == before


def test_small_change_is_counted_but_not_detected(graph: Graph) -> None:
    notes = Detecting(graph, changed_share=1.0)
    notes.add_topics()
    notes.work()
    notes.add("more.md", ("quay", "crane", "container"))
    assert notes.work() == 0
    assert 0 < notes.page().changed < 1
    off = Detecting(graph, enabled=False)
    assert off.work() == 0
    notes.service.detect("notes")
    assert notes.work() == 1
    assert notes.page().changed == 0


def test_deleted_concept_leaves_its_community_at_once(notes: Detecting, driver: neo4j.Driver) -> None:
    notes.work()
    ids = {row["label"]: row["id"] for row in rows(driver, IDS)}
    kept = merge_concepts(notes.graph, (ids["oven"], ids["crust"]), lambda *_: True)
    page = notes.page()
    gone = "oven" if kept == ids["crust"] else "crust"
    assert all(gone not in each.labels and gone not in each.name for each in page.communities)
    delete_document(notes.graph, build_document_id("notes", "harbour.md"))
    (left,) = notes.page().communities
    assert set(left.labels) == {*BAKERY} - {gone}


def test_relationships_tie_concepts_of_a_single_source(graph: Graph) -> None:
    notes = Detecting(graph)
    texts = ["Ada met Bob and Cleo.", "Dan met Eve and Finn.", "Nothing else."]
    people = [("Ada", "Bob", "Cleo"), ("Dan", "Eve", "Finn")]

    def add_people(ontology: str) -> None:
        made = record("people.md", texts, ontology)
        store_document(graph, made)
        several = [
            extraction(
                made,
                at,
                *(found(each, quote(texts[at], each)) for each in names),
                relations=tuple(ExtractedRelation(names[0], "met", each, 1.0) for each in names[1:]),
            )
            for at, names in enumerate(people)
        ]
        write(graph, *several, ontology=ontology)

    add_people("notes")
    notes.work()
    assert sorted(map(sorted, notes.labels())) == [[*each] for each in people]
    assert notes.page().left_out == 0
    add_people("others")
    assert notes.page().changed == 0


def test_an_ontology_with_little_or_nothing_has_none(graph: Graph) -> None:
    notes = Detecting(graph)
    made = record("a.md", ["One lighthouse."])
    store_document(graph, made)
    assert notes.work() == 0, "there are no concepts"
    assert "not been detected yet" in notes.page().notes[0]
    write(graph, labelled(made, 0, "lighthouse"))
    assert notes.work() == 1
    page = notes.page()
    assert (page.communities, page.concepts, page.notes) == ([], 1, [])
    assert notes.work() == 0
    with pytest.raises(NotFound, match="note"):
        notes.page(ontology="note")
    with pytest.raises(NotFound, match="note"):
        notes.service.detect("note")


def test_deleted_concepts_and_communities_are_omitted(notes: Detecting, driver: neo4j.Driver) -> None:
    # Neo4j returns null for the properties of nodes that are deleted during the read
    notes.work()
    bakery, harbour = notes.page().communities
    first, *others = bakery.labels
    rows(driver, "MATCH (c:Concept) WHERE c.label = $label REMOVE c.label", label=first)
    told = notes.service.find("notes", bakery.community_id, concepts=50, passages=5)
    assert (notes.page().communities[0].labels, told.labels) == (others, others)
    assert [each.label for each in told.concepts] == others
    rows(driver, "MATCH (c:Community {community_id: $id}) REMOVE c.concept_ids", id=harbour.community_id)
    assert [each.community_id for each in notes.page().communities] == [bakery.community_id]
    with pytest.raises(NotFound, match="communities may have changed"):
        notes.service.find("notes", harbour.community_id, concepts=5, passages=5)
    assert read_details(notes.graph, harbour.community_id, 5, 5) == {"concepts": [], "passages": []}
