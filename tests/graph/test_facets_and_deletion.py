from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from kg_api.errors import Conflict
from kg_api.graph import document_writes
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_matching, store_documents
from kg_api.graph.documents import change_document
from kg_api.graph.filters import count_facets
from kg_api.graph.library import list_documents
from kg_api.schemas.documents import DocumentChange, DocumentRecord
from kg_api.schemas.filters import DeletedMatching, DocumentDeletion, DocumentFilter, FacetRequest, Facets
from tests.conftest import Stored
from tests.support.records import record

DOCUMENTS = 40


def metadata(number: int) -> dict[str, Any]:
    told: dict[str, Any] = {"number": number, "tags": [f"tag {number % 3}", f"tag {number % 5}", "all"]}
    if number % 4:
        told["author"] = f"author {number % 7}"
        told["date"] = f"{2020 + number % 3}-{1 + number % 12:02}-05"
    return told


def numbered(number: int) -> DocumentRecord:
    texts = [f"passage {number} {at}" for at in range(2)]
    return record(f"{number:02}", texts, "even" if number % 2 == 0 else "odd", metadata=metadata(number))


@contextmanager
def store_numbered(graph: Graph) -> Generator[Graph]:
    for rest in range(2):
        store_documents(graph, [numbered(n) for n in range(rest, DOCUMENTS, 2)])
    yield graph


@pytest.fixture
def library(stored: Stored, migrated_graph: Graph) -> Graph:
    return stored.give(store_numbered, migrated_graph)


def facets(graph: Graph, *fields: object, **more: Any) -> Facets:
    return count_facets(graph, FacetRequest.model_validate({"fields": list(fields), **more}))


def counts(found: Facets, at: int = 0) -> dict[object, int]:
    return {each.value: each.documents for each in found.facets[at].values}


def test_facets_equal_a_plain_scan(library: Graph) -> None:
    chosen = [n for n in range(DOCUMENTS) if n >= 10]
    found = facets(library, "author", "tags", "date:year", "date:month", "ontology", where=["number>=10"])
    told = [metadata(n) for n in chosen]
    dates = [each["date"] for each in told if "date" in each]
    assert found.documents == len(chosen)
    assert counts(found, 0) == Counter(each["author"] for each in told if "author" in each)
    assert counts(found, 1) == Counter(tag for each in told for tag in set(each["tags"]))
    assert counts(found, 2) == Counter(int(each[:4]) for each in dates)
    assert counts(found, 3) == Counter(each[:7] for each in dates)
    assert counts(found, 4) == {"even": 15, "odd": 15}
    assert [each.missing for each in found.facets] == [7, 0, 7, 7, 0]
    assert [each.left_out for each in found.facets] == [0] * 5
    for each in found.facets[2].values:
        where = DocumentFilter.model_validate({"where": ["number>=10", f"date={each.value}"]}).where
        assert list_documents(library, ontology=None, offset=0, limit=1, where=where).total == each.documents


def test_documents_with_equally_many_sources_are_ordered_by_name(library: Graph) -> None:
    page = list_documents(library, ontology=None, order="sources", offset=0, limit=DOCUMENTS)
    assert [each.document for each in page.documents] == [f"{n:02}" for n in range(DOCUMENTS)]


def test_cut_facets_are_reported_and_keep_frequent_values(library: Graph) -> None:
    found = facets(library, "number", "tags", ontology="odd", limit=3).facets
    assert (len(found[0].values), found[0].left_out) == (3, 17)
    assert (found[1].values[0].value, found[1].values[0].documents) == ("all", 20)
    assert found[1].left_out == len({tag for n in range(1, DOCUMENTS, 2) for tag in metadata(n)["tags"]}) - 3
    assert [each.documents for each in found[1].values] == sorted(
        (each.documents for each in found[1].values), reverse=True
    )


def deletion(graph: Graph, *where: object, **more: Any) -> DeletedMatching:
    return delete_matching(graph, DocumentDeletion.model_validate({"where": list(where), **more}))


def left(graph: Graph) -> list[str]:
    page = list_documents(graph, ontology=None, offset=0, limit=100)
    return sorted(each.document for each in page.documents)


def test_deletion_removes_only_previewed_documents(library: Graph) -> None:
    where = ["number>=30 || tags='tag 4' && author exists"]
    going = [n for n in range(DOCUMENTS) if n >= 30 or (n % 5 == 4 and n % 4)]
    seen = deletion(library, *where)
    assert (seen.dry_run, seen.documents, seen.sources) == (True, len(going), 2 * len(going))
    assert len(seen.first) == 10
    assert {int(each.document) for each in seen.first} <= set(going)
    assert len(left(library)) == DOCUMENTS
    gone = deletion(library, *where, dry_run=False, expected_digest=seen.digest)
    assert (gone.documents, gone.sources, gone.notes) == (len(going), 2 * len(going), [])
    assert left(library) == [f"{n:02}" for n in range(DOCUMENTS) if n not in going]
    again = deletion(library, *where, dry_run=False, expected_digest=seen.digest)
    assert (again.documents, again.sources) == (0, 0)
    assert again.notes == ["no document fits the conditions of the filter"]


def test_deletion_requires_the_digest_of_its_preview(library: Graph) -> None:
    seen = deletion(library, "number>=38")
    change_document(library, numbered(39).document_id, DocumentChange(metadata={"number": 0}))
    change_document(library, numbered(1).document_id, DocumentChange(metadata={"number": 99}))
    assert deletion(library, "number>=38").documents == seen.documents == 2
    with pytest.raises(Conflict, match="other documents match now than in the dry run: nothing was deleted"):
        deletion(library, "number>=38", dry_run=False, expected_digest=seen.digest)
    assert len(left(library)) == DOCUMENTS
    again = deletion(library, "number>=38")
    gone = deletion(library, "number>=38", dry_run=False, expected_digest=again.digest)
    assert (gone.documents, gone.digest) == (2, None)
    assert not {"01", "38"} & set(left(library))


def test_document_changed_during_deletion_is_kept(library: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    summaries = document_writes.read_summaries

    def changed_meanwhile(graph: Graph, ids: list[str]) -> object:
        change_document(graph, numbered(39).document_id, DocumentChange(metadata={"number": 0}))
        return summaries(graph, ids)

    monkeypatch.setattr(document_writes, "read_summaries", changed_meanwhile)
    gone = deletion(library, "number>=38", dry_run=False)
    assert gone.documents == 1
    assert gone.notes == ["1 document changed or were deleted during the request and no longer match"]
    assert "39" in left(library)


@pytest.mark.parametrize("given", [{}, {"where": []}, {"where": ["number"]}])
def test_an_empty_filter_deletes_nothing(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="where"):
        DocumentDeletion.model_validate({**given, "dry_run": False})
