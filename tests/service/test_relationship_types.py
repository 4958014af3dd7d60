import contextlib
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict, NotFound, Unavailable
from kg_api.graph import relations
from kg_api.graph.client import Graph
from kg_api.graph.jobs import enqueue_slot
from kg_api.schemas.concepts import TypeMerging
from tests.service.conftest import sharing
from tests.support.concepts import state
from tests.support.cypher import rows
from tests.support.embedding import run_jobs
from tests.support.running import wait_until

TYPES = [
    ["worker", "requires", "lease"],
    ["worker", "requires", "fence"],
    ["worker", "needs", "lease"],
    ["worker", "requires a", "heartbeat"],
    ["lease", "required by", "worker"],
    ["fence", "does not require", "lease"],
]


def delete_unused_types(graph: Graph, limit: int) -> int:
    return graph.write("relations/delete_unused_types", limit=limit)[0]["deleted"]


def store_told(graph: Graph, url: str) -> None:
    with KgClient(url) as kg:
        kg.ingest_text("A lease, a worker, a fence and a heartbeat.", ontology="notes", document="a.md")
        run_jobs(graph)
        state(graph, "a.md", relations=TYPES)
        run_jobs(graph)


shared = sharing(store_told)


def types(kg: KgClient) -> dict[str, tuple[int, list[str]]]:
    found = kg.relationship_types("notes").types
    return {each.name: (each.relations, each.also) for each in found}


def stored(driver: neo4j.Driver) -> list[tuple[Any, ...]]:
    told = "MATCH ()-[r:RELATED_TO]->() RETURN r.stated_type AS stated, r.type AS type ORDER BY stated, type"
    return [(row["stated"], row["type"]) for row in rows(driver, told)]


@contextlib.contextmanager
def dying_before_renaming(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    def die(*_: object) -> None:
        raise Unavailable("the process has ended")

    with monkeypatch.context() as patch, contextlib.suppress(Unavailable):
        patch.setattr(relations, "finish_renaming", die)
        yield


def test_proposals_change_nothing_and_show_examples(told: KgClient, driver: neo4j.Driver) -> None:
    before = stored(driver)
    found = told.propose_relationship_types("notes", min_similarity=0.5)
    assert found.compared == 5
    (proposal,) = found.proposals
    assert (proposal.into, [each.name for each in proposal.merged]) == ("requires", ["requires a"])
    assert 0.5 <= proposal.merged[0].similarity < 1
    assert proposal.merged[0].examples == ["worker requires a heartbeat"]
    assert sorted(proposal.examples) == ["worker requires fence", "worker requires lease"]
    assert any("nothing was merged" in each for each in found.notes)
    assert stored(driver) == before
    assert told.propose_relationship_types("notes", min_similarity=1.0).proposals == []


def test_merged_types_are_read_as_one(told: KgClient) -> None:
    told.merge_relationship_types("notes", into="Requires", merged=["needs", "requires a"], by="Ada")
    assert types(told)["requires"] == (4, ["needs", "requires a"])
    found = told.search_relationships("worker requires lease", types=["needs"])
    hit = next(each for each in found.relationships if each.object.label == "lease")
    assert (hit.type, len(hit.evidence), hit.sources) == ("requires", 2, 1)
    assert {each.type for each in hit.evidence} == {"requires", "needs"}
    assert {each.type for each in found.relationships} == {"requires"}
    concept = told.search_concepts("worker").concepts[0]
    related = told.related_concepts(concept.concept_id).related
    assert {each.type for each in related} == {"requires", "required by"}


def test_later_relationships_use_the_merged_type(told: KgClient, graph: Graph, driver: neo4j.Driver) -> None:
    merge = told.merge_relationship_types("notes", into="requires", merged=["needs"])
    told.ingest_text("The fence needs a lease.", ontology="notes", document="b.md")
    run_jobs(graph)
    state(graph, "b.md", relations=[["fence", "needs", "lease"]])
    assert stored(driver).count(("needs", "requires")) == 2
    state(graph, "b.md", relations=[["fence", "needs", "lease"]])
    assert stored(driver).count(("needs", "requires")) == 2
    state(graph, "b.md", relations=[["fence", "Needs", "lease"]])
    assert ("Needs", "requires") in stored(driver)
    told.undo_type_merge("notes", str(merge.merge_id))
    assert ("Needs", "Needs") in stored(driver), "as it was stated"


def test_a_merge_is_recorded_and_undone(told: KgClient, driver: neo4j.Driver) -> None:
    before = stored(driver)
    first = told.merge_relationship_types("notes", into="needs", merged=["requires a"], by="Ada")
    second = told.merge_relationship_types("notes", into="requires", merged=["needs"], by="Ben")
    assert (first.relations, second.relations) == (1, 2)
    assert types(told)["requires"] == (4, ["needs", "requires a"])
    record = told.relationship_type_merges("notes")
    assert [(each.into, each.merged, each.by) for each in record.merges] == [
        ("requires", ["needs"], "Ben"),
        ("needs", ["requires a"], "Ada"),
    ]
    undone = told.undo_type_merge("notes", str(second.merge_id), by="Cleo")
    assert (undone.undone_by, undone.undone_at is not None) == ("Cleo", True)
    assert types(told)["needs"] == (2, ["requires a"])
    assert told.undo_type_merge("notes", str(second.merge_id), by="Dan").undone_by == "Cleo"
    told.undo_type_merge("notes", str(first.merge_id))
    assert stored(driver) == before
    assert told.relationship_type_merges("notes").total == 2, "the record stays"


def test_invalid_merge_is_rejected(told: KgClient) -> None:
    with pytest.raises(NotFound, match=r"'nothing'.*--ontology notes"):
        told.merge_relationship_types("notes", into="requires", merged=["nothing"])
    with pytest.raises(NotFound):
        told.merge_relationship_types("no such ontology", into="requires", merged=["needs"])
    with pytest.raises(Conflict, match="itself"):
        told.merge_relationship_types("notes", into="requires", merged=["REQUIRES"])
    told.merge_relationship_types("notes", into="requires", merged=["needs"])
    with pytest.raises(Conflict, match="part of 'requires' already"):
        told.merge_relationship_types("notes", into="needs", merged=["requires a"])
    with pytest.raises(NotFound, match="types merges --ontology notes"):
        told.undo_type_merge("notes", "nothing")


def test_worker_finishes_interrupted_merges_and_undos(
    told: KgClient, graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored(driver)
    with dying_before_renaming(monkeypatch):
        relations.merge_types(graph, "notes", TypeMerging(into="requires", merged=["needs"]))
    enqueue_slot(graph, "backfill")
    run_jobs(graph)
    assert ("needs", "requires") in stored(driver)
    (merge,) = told.relationship_type_merges("notes").merges
    with dying_before_renaming(monkeypatch):
        relations.unmerge_types(graph, "notes", str(merge.merge_id), None)
    assert ("needs", "requires") in stored(driver)
    assert relations.finish_renaming(graph) == 1
    assert stored(driver) == before
    assert relations.finish_renaming(graph) == 0, "and then it is through"


def test_dry_run_reports_consequences(told: KgClient, driver: neo4j.Driver) -> None:
    before = stored(driver)
    told_of = told.merge_relationship_types("notes", into="requires", merged=["needs"], dry_run=True)
    assert (told_of.merge_id, told_of.relations, told_of.merged) == (None, 1, ["needs"])
    assert stored(driver) == before
    assert told.relationship_type_merges("notes").total == 0


NAMES = "MATCH (t:RelationType) RETURN t.name AS name"
BLOCKED = "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status"


def test_unused_types_are_deleted_unless_merged_or_configured(
    told: KgClient, graph: Graph, driver: neo4j.Driver
) -> None:
    told.merge_relationship_types("notes", into="requires", merged=["needs"])
    for name in ("required by", "requires a"):
        told.set_relationship_stance("notes", name, "supports")
    state(graph, "a.md", relations=[["worker", "holds", "lease"]])
    while delete_unused_types(graph, 1):
        pass
    kept = {"requires", "needs", "required by", "requires a", "holds"}
    assert {row["name"] for row in rows(driver, NAMES)} == kept


def test_type_that_is_configured_meanwhile_is_kept(
    told: KgClient, graph: Graph, driver: neo4j.Driver
) -> None:
    del told
    state(graph, "a.md", relations=[["worker", "holds", "lease"]])
    with ThreadPoolExecutor(1) as pool, driver.session() as session, session.begin_transaction() as tx:
        tx.run("MATCH (t:RelationType {name: 'needs'}) SET t.stance = 'supports'").consume()
        deleted = pool.submit(delete_unused_types, graph, relations.PORTION)
        wait_until(lambda: bool(rows(driver, BLOCKED)), 10)
        tx.commit()
        assert deleted.result() == 4
    assert {row["name"] for row in rows(driver, NAMES)} == {"needs", "holds"}
