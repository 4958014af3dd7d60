from __future__ import annotations

from typing import Any

import httpx
import neo4j

from tests.service.asking import Json, ingest, problem

TEXT = (
    "# Leases\n\nA worker renews its lease every ten seconds, and the Lease ends with the worker.\n\n"
    + "Filler words stand here so that paragraphs are kept apart by their size. " * 30
    + "\n\n# Fences\n\nA fence refuses writes of a worker that lost its lease.\n"
)
ROW: Json = {
    "document": "leases.md",
    "concepts": [
        {"label": "lease", "description": "A claim that ends", "search_terms": ["leases"]},
        {"label": "fence", "quotes": ["A fence refuses writes", "It never said that at all"]},
        {"label": "clock skew"},
    ],
    "relations": [["fence", "refuses", "worker"], ["lease", "ends by", "clock skew"]],
}


def send(http: httpx.Client, *rows: Json, ontology: str = "notes") -> Json:
    response = http.post(f"/ontologies/{ontology}/concepts", json={"rows": list(rows)})
    assert response.status_code == 200, response.text
    return response.json()


def graph_of(driver: neo4j.Driver) -> set[tuple[Any, ...]]:
    rows = driver.execute_query(
        "MATCH (c:Concept) OPTIONAL MATCH (c)-[a:APPEARS_IN]->(s) "
        "RETURN c.concept_id, c.label, s.source_id, a.verified, null AS more "
        "UNION ALL MATCH (c:Concept)-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s) "
        "RETURN c.concept_id, i.quote AS `c.label`, s.source_id, i.start AS `a.verified`, "
        "i.instance_id AS more "
        "UNION ALL MATCH (c:Concept)-[r:RELATED_TO]->(o) "
        "RETURN c.concept_id, r.type AS `c.label`, r.source_id AS `s.source_id`, o.label AS `a.verified`, "
        "r.relation_id AS more"
    ).records
    return {tuple(row.values()) for row in rows}


def appearances(driver: neo4j.Driver) -> dict[str, list[tuple[int, bool]]]:
    rows = driver.execute_query(
        "MATCH (c:Concept)-[a:APPEARS_IN]->(s:Source) "
        "RETURN c.label AS label, s.paragraph AS paragraph, a.verified AS verified ORDER BY label, paragraph"
    ).records
    found: dict[str, list[tuple[int, bool]]] = {}
    for row in rows:
        found.setdefault(row["label"], []).append((row["paragraph"], row["verified"]))
    return found


def test_imported_concepts_appear_at_labels_or_quotes(http: httpx.Client, driver: neo4j.Driver) -> None:
    paragraphs = ingest(http, TEXT, document="leases.md")["sources"]["added"]
    assert paragraphs >= 2
    told = send(http, ROW)
    last = paragraphs - 1
    assert appearances(driver) == {
        "lease": [(0, True), (last, True)],
        "fence": [(last, True)],
        "worker": [(0, True), (last, True)],
        "clock skew": [(0, False)],
    }
    assert (told["rows"], told["sources"], told["concepts"]) == (1, 2, 4)
    assert (told["appearances"], told["unverified"], told["relations"]) == (6, 1, 2)
    assert [(each["label"], each["reason"]) for each in told["problems"]] == [
        ("fence", "the quote is not in the text: It never said that at all")
    ]
    related = {row[1:4] for row in graph_of(driver) if row[1] in {"refuses", "ends by"}}
    assert {(kind, target) for kind, _, target in related} == {
        ("refuses", "worker"),
        ("ends by", "clock skew"),
    }


def test_every_quote_is_a_span_of_its_source(http: httpx.Client, driver: neo4j.Driver) -> None:
    ingest(http, TEXT, document="leases.md")
    send(http, ROW)
    rows = driver.execute_query(
        "MATCH (i:Instance)-[:FROM_SOURCE]->(s) RETURN i.quote AS quote, i.start AS start, i.end AS end, "
        "s.full_text AS text"
    ).records
    assert rows
    for row in rows:
        assert row["text"][row["start"] : row["end"]] == row["quote"]
    quotes = {row["quote"] for row in rows}
    assert "A worker renews its lease every ten seconds, and the Lease ends with the worker." in quotes


def test_repeated_import_is_idempotent_and_shorter_import_removes(
    http: httpx.Client, driver: neo4j.Driver
) -> None:
    ingest(http, TEXT, document="leases.md")
    first = send(http, ROW)
    before = graph_of(driver)
    assert send(http, ROW) == first
    assert graph_of(driver) == before
    send(http, {"document": "leases.md", "concepts": [{"label": "fence"}]})
    assert set(appearances(driver)) == {"fence"}


def test_rows_emptying_a_document_are_counted(http: httpx.Client, driver: neo4j.Driver) -> None:
    ingest(http, TEXT, document="leases.md")
    ingest(http, "It says nothing of the kind.", document="other.md")
    assert send(http, ROW, {"document": "other.md"})["emptied"] == 0
    assert send(http, {"document": "leases.md", "concepts": [{"label": "fence"}]})["emptied"] == 1
    assert send(http, {"document": "leases.md"})["emptied"] == 1
    assert appearances(driver) == {}
    assert send(http, {"document": "leases.md"})["emptied"] == 0


def test_a_paragraph_and_a_source_can_be_named(http: httpx.Client, driver: neo4j.Driver) -> None:
    last = ingest(http, TEXT, document="leases.md")["sources"]["added"] - 1
    row = {"document": "leases.md", "paragraph": last, "concepts": [{"label": "lease"}]}
    assert send(http, row)["problems"] == []
    assert appearances(driver) == {"lease": [(last, True)]}
    source = driver.execute_query("MATCH (s:Source {paragraph: 0}) RETURN s.source_id AS id").records[0]["id"]
    send(http, {"source_id": source, "concepts": [{"label": "worker"}]})
    assert appearances(driver) == {"lease": [(last, True)], "worker": [(0, True)]}


def test_unplaced_concepts_are_reported(http: httpx.Client, driver: neo4j.Driver) -> None:
    ingest(http, "One text about tides.", document="a", title="Same")
    ingest(http, "Another text about tides.", document="b", title="Same")
    ingest(http, "Elsewhere.", document="c", ontology="other")
    concepts = [{"label": "tides"}]
    told = send(
        http,
        {"document": "missing", "concepts": concepts},
        {"title": "Same", "concepts": concepts},
        {"document": "a", "paragraph": 7, "concepts": concepts},
        {"document": "c", "concepts": concepts},
        {"source_id": "no-such-source", "concepts": concepts},
    )
    assert [(each["row"], each["place"], each["reason"]) for each in told["problems"]] == [
        (0, "missing", "the ontology has no document of this name or title"),
        (1, "Same", "2 documents have this title: name the document itself"),
        (2, "a", "the document has no paragraph 7"),
        (3, "c", "the ontology has no document of this name or title"),
        (4, "no-such-source", "the ontology has no such source"),
    ]
    assert (told["rows"], told["appearances"]) == (0, 0)
    assert appearances(driver) == {}


def test_title_matches_before_name_of_another_document(http: httpx.Client, driver: neo4j.Driver) -> None:
    ingest(http, "This one has the name.", document="0", title="Another")
    ingest(http, "The Lubefu River is a tributary.", document="17", title="Lubefu River")
    send(http, {"document": "0", "title": "Lubefu River", "concepts": [{"label": "tributary"}]})
    found = driver.execute_query("MATCH (:Concept)-[:APPEARS_IN]->(s) RETURN s.document AS document").records
    assert [row["document"] for row in found] == ["17"]


def test_too_many_rows_and_invalid_bodies_are_rejected(http: httpx.Client) -> None:
    rows = [{"document": "a"}] * 501
    problem(http.post("/ontologies/notes/concepts", json={"rows": rows}), 422)
    problem(http.post("/ontologies/notes/concepts", json={"rows": []}), 422)
    problem(http.post("/ontologies/notes/concepts", content=b"x"), 415)


def test_unknown_ontology_is_not_found(http: httpx.Client) -> None:
    response = http.post("/ontologies/nothing/concepts", json={"rows": [{"document": "a"}]})
    assert "ontology 'nothing' not found" in problem(response, 404)
