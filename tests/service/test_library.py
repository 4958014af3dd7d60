from __future__ import annotations

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.service.asking import embedded, ingest, search


def test_empty_library_returns_empty_lists(http: httpx.Client) -> None:
    assert http.get("/ontologies").json() == {"ontologies": [], "waiting": {}}
    assert http.get("/documents").json() == {
        "total": 0,
        "offset": 0,
        "limit": 100,
        "documents": [],
        "notes": [],
    }
    status = dict.fromkeys(("total", "embedded", "missing", "stale", "refused", "searchable"), 0)
    concepts = dict.fromkeys(("total", "embedded", "missing", "stale", "refused", "deferred"), 0)
    edges = images = dict.fromkeys(("total", "embedded", "missing", "stale", "refused"), 0)
    told = {"ontology": None, **status, "building": False, "concepts": concepts}
    told |= {"edges": edges, "images": images, "languages": {}}
    assert http.get("/embedding-status").json() == told
    assert search(http, "anything")["sources"] == []


def test_ontologies_are_listed_with_their_counts(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, "one", document="a", ontology="beta")
    embedded(graph, http, "two", document="b", ontology="beta")
    ingest(http, "three", document="a", ontology="alpha")
    same = {"stale": 0, "refused": 0, "space": "default", "building": False, "images": 0, "notes": []}
    one, two = {"languages": {"unknown": 1}, **same}, {"languages": {"unknown": 2}, **same}
    assert http.get("/ontologies").json()["ontologies"] == [
        {"ontology": "alpha", "documents": 1, "sources": 1, "embedded": 0, "searchable": 0, **one},
        {"ontology": "beta", "documents": 2, "sources": 2, "embedded": 2, "searchable": 2, **two},
    ]


def test_documents_are_paged_in_order(http: httpx.Client) -> None:
    for ontology in ("b", "a"):
        for number in (3, 1, 2):
            ingest(http, "text", document=f"{number}.txt", ontology=ontology)
    pages = [http.get("/documents", params={"offset": at, "limit": 4}).json() for at in (0, 4, 8)]
    names = [[(each["ontology"], each["document"]) for each in page["documents"]] for page in pages]
    assert [page["total"] for page in pages] == [6, 6, 6]
    assert [len(page) for page in names] == [4, 2, 0]
    assert [name for page in names for name in page] == [(o, f"{n}.txt") for o in "ab" for n in (1, 2, 3)]
    only = http.get("/documents", params={"ontology": "b", "limit": 2}).json()
    assert (only["total"], len(only["documents"])) == (3, 2)


def test_document_returns_all_its_fields(http: httpx.Client) -> None:
    text = "# Leases\n\nA worker renews its lease.\n"
    stored = ingest(http, text, document="l.md", uri="file:///l.md", metadata={"n": 1})
    read = http.get(f"/documents/{stored['document_id']}").json()
    assert read.pop("updated_at").endswith("Z")
    assert read == {
        "document_id": stored["document_id"],
        "ontology": "notes",
        "document": "l.md",
        "title": "Leases",
        "uri": "file:///l.md",
        "format": "markdown",
        "characters": len(text),
        "sources": stored["sources"]["added"],
        "metadata": {"n": 1},
        "text": text,
    }


@pytest.mark.parametrize("name", ["Büro 2", "v1.2-final", "本棚", "a_b", "हिन्दी"])
def test_ontology_of_any_script_is_searched_and_deleted(kg: KgClient, name: str) -> None:
    kg.ingest_text("some text", ontology=name, document="a/b c?.txt")
    assert kg.embedding_status(name).total == 1
    assert kg.documents(name).documents[0].document == "a/b c?.txt"
    assert kg.search_sources("text", ontology=name, documents=["a/b c?.txt"]).sources
    assert kg.delete_ontology(name).documents == 1
