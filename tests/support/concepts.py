from collections.abc import Sequence
from typing import Any

import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import request_concepts
from kg_api.graph.concept_writes import write_extractions
from kg_api.graph.vectors import list_document_sources
from kg_api.schemas.base import build_document_id
from kg_api.schemas.concepts import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.schemas.documents import DocumentRecord
from tests.support.cypher import rows

TIMES = ("created_at", "changed_at", "held_at", "extracted_at", "embedded_at", "updated_at", "touched_at")


def quote(text: str, words: str, *, score: float = 1.0, said: str | None = None) -> Quote:
    start = text.index(words)
    return Quote(words, start, start + len(words), score, said)


def found(label: str, *quotes: Quote, **more: Any) -> ExtractedConcept:
    return ExtractedConcept(label, quotes, **more)


def extraction(
    record: DocumentRecord,
    paragraph: int,
    *concepts: ExtractedConcept,
    relations: tuple[ExtractedRelation, ...] = (),
) -> Extraction:
    source = record.sources[paragraph]
    return Extraction(source.source_id, source.content_hash, concepts, relations)


def labelled(record: DocumentRecord, paragraph: int, *labels: str) -> Extraction:
    """Build concepts from the words in a paragraph. The paragraph is used as their quote."""
    text = record.sources[paragraph].full_text
    return extraction(record, paragraph, *(found(each, quote(text, each)) for each in labels))


def write(graph: Graph, *extractions: Extraction, ontology: str = "notes", mark: str = "m1") -> int:
    return graph.transaction(lambda tx: write_extractions(tx, ontology, extractions, mark))


def state(
    graph: Graph,
    document: str,
    concepts: Sequence[str | tuple[str, str]] = (),
    relations: Sequence[Sequence[str]] = (),
    ontology: str = "notes",
) -> None:
    """Write what an extractor found in the first passage of a document: labels, some with their quotes.

    The whole passage proves a label that it contains, and a relationship of two such labels.
    """
    source = list_document_sources(graph, build_document_id(ontology, document))[0]
    text, whole = source.full_text, Quote(source.full_text, 0, len(source.full_text))
    given = {each[0]: quote(text, each[1]) for each in concepts if not isinstance(each, str)}
    labels = {label: None for subject, _, target in relations for label in (subject, target)}
    labels |= {each if isinstance(each, str) else each[0]: None for each in concepts}
    said = {label: given.get(label, whole) for label in labels if label in given or label in text}
    made = tuple(found(label, *([said[label]] if label in said else [])) for label in labels)
    stated = tuple(
        ExtractedRelation(
            each[0], each[1], each[2], quote=whole if {each[0], each[2]} <= said.keys() else None
        )
        for each in relations
    )
    graph.transaction(lambda tx: request_concepts(tx, ontology))
    write(graph, Extraction(source.source_id, source.content_hash, made, stated), ontology=ontology)


def picture(driver: neo4j.Driver) -> list[Any]:
    nodes = rows(
        driver,
        "MATCH (n) WHERE n:Concept OR n:ConceptName OR n:Instance OR n:Source "
        "RETURN labels(n) AS labels, properties(n) AS map",
    )
    ties = rows(
        driver,
        "MATCH (a)-[r:NAMES|APPEARS_IN|EVIDENCED_BY|FROM_SOURCE|RELATED_TO]->(b) "
        "RETURN type(r) AS type, properties(r) AS map, elementId(a) AS a, elementId(b) AS b",
    )
    for row in nodes:
        row["map"] = {key: value for key, value in row["map"].items() if key not in TIMES}
    return sorted(map(str, nodes)) + sorted(map(str, ties))


def concepts(driver: neo4j.Driver) -> dict[str, int]:
    there = rows(driver, "MATCH (c:Concept) RETURN c.label AS label, COUNT { (c)-[:APPEARS_IN]->() } AS n")
    return {row["label"]: row["n"] for row in there}


def count(driver: neo4j.Driver, pattern: str) -> int:
    return rows(driver, f"MATCH {pattern} RETURN count(*) AS n")[0]["n"]


def check_invariants(driver: neo4j.Driver) -> None:
    wrong = {
        "a quote that is not in its source": "MATCH (i:Instance)-[:FROM_SOURCE]->(s:Source) "
        "WHERE substring(s.full_text, i.start, i.end - i.start) <> i.quote RETURN i",
        "a quote without both ends": "MATCH (i:Instance) WHERE COUNT { (i)-[:FROM_SOURCE]->(:Source) } <> 1 "
        "OR COUNT { (:Concept)-[:EVIDENCED_BY]->(i) } <> 1 RETURN i",
        "a quote whose concept does not appear": "MATCH (c:Concept)-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) "
        "WHERE NOT (c)-[:APPEARS_IN]->(s) RETURN i",
        "an appearance that is verified wrongly": "MATCH (c:Concept)-[a:APPEARS_IN]->(s) WHERE a.verified <> "
        "EXISTS { (c)-[:EVIDENCED_BY]->()-[:FROM_SOURCE]->(s) } RETURN a",
        "a concept of no source": "MATCH (c:Concept) WHERE NOT (c)-[:APPEARS_IN]->() RETURN c",
        "a name of nothing": "MATCH (n:ConceptName) WHERE COUNT { (n)-[:NAMES]->(:Concept) } <> 1 RETURN n",
        "a concept without its name": "MATCH (c:Concept) WHERE NOT (c)<-[:NAMES]-() RETURN c",
        "another ontology": "MATCH (c:Concept)-[:APPEARS_IN]->(s) WHERE c.ontology <> s.ontology RETURN c",
        "a relationship to itself": "MATCH (c)-[r:RELATED_TO]->(c) RETURN r",
        "a relationship of no source": "MATCH ()-[r:RELATED_TO]->() "
        "WHERE NOT EXISTS { (:Source {source_id: r.source_id}) } RETURN r",
    }
    for what, query in wrong.items():
        assert rows(driver, query) == [], what
