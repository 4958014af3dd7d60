from __future__ import annotations

import httpx

from kg_api.graph.client import Graph
from tests.service.asking import embedded, ingest


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
