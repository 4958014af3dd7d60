"""Merges that touch each other are undone the last first, and what was parted stays apart over a third."""

from __future__ import annotations

import neo4j
import pytest

from kg_api.errors import Conflict
from kg_api.graph.client import Graph
from kg_api.graph.concept_merges import read_concept_merges, unmerge_concepts
from kg_api.graph.document_writes import store_document
from kg_api.schemas.concepts import ConceptMerge
from kg_api.schemas.documents import DocumentRecord
from tests.support.concepts import check_invariants, concepts, extraction, found, labelled, write
from tests.support.records import record
from tests.support.two_concepts import merged

APART = {"alpha": 3, "beta": 1, "gamma": 1}


@pytest.fixture
def other(graph: Graph) -> DocumentRecord:
    """A document besides one whose three sources carry alpha."""
    alpha = record("a.md", ["alpha one.", "alpha two.", "alpha three."])
    made = record("s.md", ["beta and gamma live here.", "gamma here."])
    for each in (alpha, made):
        store_document(graph, each)
    write(graph, *(labelled(alpha, place, "alpha") for place in range(3)))
    return made


def merge_of(graph: Graph, label: str) -> ConceptMerge:
    """The one that stands by which a concept went."""
    merges = read_concept_merges(graph, "notes", 0, 50)[0]
    return next(each for each in merges if each.merged == label and each.undone_at is None)


def undo(graph: Graph, label: str) -> None:
    unmerge_concepts(graph, "notes", merge_of(graph, label).merge_id, None)


@pytest.mark.parametrize("quoted", [True, False])
def test_the_last_of_two_into_one_is_undone_first(
    graph: Graph, driver: neo4j.Driver, other: DocumentRecord, *, quoted: bool
) -> None:
    bare = extraction(other, 0, found("beta"), found("gamma"))
    write(graph, labelled(other, 0, "beta", "gamma") if quoted else bare)
    merged(graph, "alpha", "beta")
    merged(graph, "alpha", "gamma")
    with pytest.raises(Conflict, match=merge_of(graph, "gamma").merge_id):
        undo(graph, "beta")
    assert concepts(driver) == {"alpha": 4}
    undo(graph, "gamma")
    undo(graph, "beta")
    assert concepts(driver) == APART
    check_invariants(driver)


def test_merges_of_other_sources_are_undone_in_any_order(
    graph: Graph, driver: neo4j.Driver, other: DocumentRecord
) -> None:
    write(graph, labelled(other, 0, "beta"), labelled(other, 1, "gamma"))
    merged(graph, "alpha", "beta")
    merged(graph, "alpha", "gamma")
    undo(graph, "beta")
    assert concepts(driver) == {"alpha": 4, "beta": 1}
    undo(graph, "gamma")
    assert concepts(driver) == APART
    check_invariants(driver)


def test_a_merge_of_too_many_sources_is_told_not_to_be_undoable(
    graph: Graph, driver: neo4j.Driver, other: DocumentRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg_api.graph.concept_merges.MAX_RECORDED", 1)
    write(graph, labelled(other, 0, "beta", "gamma"), labelled(other, 1, "gamma"))
    merged(graph, "alpha", "beta")
    merged(graph, "alpha", "gamma")
    assert (merge_of(graph, "beta").undoable, merge_of(graph, "gamma").undoable) == (True, False)
    with pytest.raises(Conflict, match="cannot be undone: what it moved is not recorded"):
        undo(graph, "gamma")
    assert concepts(driver) == {"alpha": 5}


def test_what_was_parted_stays_apart_over_a_third(
    graph: Graph, driver: neo4j.Driver, other: DocumentRecord
) -> None:
    write(graph, labelled(other, 0, "beta"), labelled(other, 1, "gamma"))
    merged(graph, "beta", "gamma")
    merges = read_concept_merges(graph, "notes", 0, 5)[0]
    unmerge_concepts(graph, "notes", merges[0].merge_id, None)
    assert merged(graph, "alpha", "beta") is not None
    assert merged(graph, "alpha", "gamma") is None
    assert concepts(driver) == {"alpha": 4, "gamma": 1}
    undo(graph, "beta")
    assert merged(graph, "alpha", "gamma") is not None, "alpha without beta"
