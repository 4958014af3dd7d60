"""Makes an ontology several times as large, without taking anything in: for what a search costs then.

Each copy of a passage is half of one and half of another, in text, vector (with noise) and concepts, so
that no two are alike. Concepts that many passages carry are shared by all copies, as a larger corpus goes
on to speak of what it speaks of most; the others come anew with each copy, near to its own. Quotes, names
of concepts and chunks of long passages are not copied: a search by the graph reads none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import neo4j
import numpy as np
from numpy.typing import NDArray

from benchmarks.stack import Stack

COMMON = 10
"""A concept of so many passages is one of all copies."""
NOISE = 0.3
"""Length of what is added to a vector, whose own is 1."""
ROWS = 1000
STEP = 977
"""The other half of a passage stands so many passages behind it, times the number of the copy."""

SOURCES = """MATCH (s:Source {ontology: $ontology}) WHERE s.embedding IS NOT NULL
WITH s ORDER BY s.document_id, s.paragraph
RETURN properties(s) AS own,
       COLLECT { MATCH (c:Concept)-[:APPEARS_IN]->(s) RETURN c.concept_id } AS concepts"""
CONCEPTS = """MATCH (c:Concept {ontology: $ontology}) WHERE c.embedding IS NOT NULL
RETURN properties(c) AS own, COUNT { (c)-[:APPEARS_IN]->() } AS carriers"""
NEAR = """MATCH (c:Concept {ontology: $ontology})-[r:NEAR_TO]->(n:Concept)
RETURN c.concept_id AS id, n.concept_id AS near, r.space AS space, r.cosine AS cosine"""
COPY_DOCUMENTS = """MATCH (d:Document {ontology: $ontology})-[:IN_ONTOLOGY]->(o:Ontology)
WHERE NOT d.document_id CONTAINS '~'
CREATE (n:Document)-[:IN_ONTOLOGY]->(o)
SET n = d {.*, document_id: d.document_id + $copy, document: d.document + $copy}"""
WRITE_CONCEPTS = """UNWIND $rows AS row
CREATE (c:Concept) SET c = row.own
WITH c, row CALL db.create.setNodeVectorProperty(c, 'embedding', row.vector)"""
WRITE_NEAR = """UNWIND $rows AS row
MATCH (c:Concept {concept_id: row.id}) MATCH (n:Concept {concept_id: row.near})
CREATE (c)-[:NEAR_TO {space: row.space, cosine: row.cosine}]->(n)"""
WRITE_SOURCES = """UNWIND $rows AS row
MATCH (d:Document {document_id: row.own.document_id})
CREATE (s:Source)-[:PART_OF]->(d) SET s = row.own
WITH s, row CALL db.create.setNodeVectorProperty(s, 'embedding', row.vector)
WITH s, row UNWIND row.concepts AS id
MATCH (c:Concept {concept_id: id})
CREATE (c)-[:APPEARS_IN {confidence: 1.0, verified: true, extracted_with: s.extracted_with}]->(s)"""

Row = dict[str, Any]


def multiply(running: Stack, ontology: str, times: int) -> int:
    """Make so many of each passage, the first one included; how many there are then."""
    with running.driver() as driver, driver.session() as session:
        sources, concepts, near = (list(_read(session, each, ontology)) for each in (SOURCES, CONCEPTS, NEAR))
        rare = {each["own"]["concept_id"] for each in concepts if each["carriers"] < COMMON}
        for number in range(1, times):
            copy = f"~{number}"
            session.run(COPY_DOCUMENTS, ontology=ontology, copy=copy).consume()
            _write(session, WRITE_CONCEPTS, _concepts(concepts, rare, number))
            _write(session, WRITE_NEAR, _near(near, rare, copy))
            _write(session, WRITE_SOURCES, _sources(sources, rare, number))
        session.run("CALL db.awaitIndexes(3600)").consume()
    return times * len(sources)


def _read(session: neo4j.Session, statement: Any, ontology: str) -> Iterator[Row]:
    for each in session.run(statement, ontology=ontology):
        yield each.data()


def _write(session: neo4j.Session, statement: Any, rows: Iterable[Row]) -> None:
    waiting = iter(rows)
    while some := [row for _, row in zip(range(ROWS), waiting, strict=False)]:
        session.run(statement, rows=some).consume()


def _concepts(concepts: Sequence[Row], rare: set[str], number: int) -> Iterator[Row]:
    noise = np.random.default_rng(number)
    for own in (each["own"] for each in concepts if each["own"]["concept_id"] in rare):
        changed = {"concept_id": f"{own['concept_id']}~{number}", "label": f"{own['label']} {number}"}
        yield {"own": _plain(own) | changed, "vector": _noisy(own["embedding"], noise)}


def _near(near: Iterable[Row], rare: set[str], copy: str) -> Iterator[Row]:
    for each in near:
        ends = {end: _name(each[end], rare, copy) for end in ("id", "near")}
        if any(ends[end] != each[end] for end in ends):
            yield {**each, **ends}


def _sources(sources: Sequence[Row], rare: set[str], number: int) -> Iterator[Row]:
    noise, copy = np.random.default_rng(1000 + number), f"~{number}"
    for at, one in enumerate(sources):
        other = sources[(at + number * STEP) % len(sources)]
        own, text = one["own"], _half(one["own"], 0) + _half(other["own"], 1)
        changed = {"source_id": own["source_id"] + copy, "document_id": own["document_id"] + copy}
        middle = np.add(own["embedding"], other["own"]["embedding"])
        carried = {*one["concepts"][::2], *other["concepts"][1::2]}
        yield {
            "own": _plain(own) | changed | {"full_text": text, "document": own["document"] + copy},
            "vector": _noisy(middle / np.linalg.norm(middle), noise),
            "concepts": [_name(each, rare, copy) for each in sorted(carried)],
        }


def _plain(own: Mapping[str, Any]) -> Row:
    return {name: value for name, value in own.items() if name != "embedding"}


def _name(concept_id: str, rare: set[str], copy: str) -> str:
    return concept_id + copy if concept_id in rare else concept_id


def _half(own: Mapping[str, Any], which: int) -> str:
    words = own["full_text"].split(" ")
    middle = len(words) // 2
    return " ".join(words[middle:] if which else [*words[:middle], ""])


def _noisy(vector: Sequence[float] | NDArray[np.float64], random: np.random.Generator) -> list[float]:
    noise = random.normal(size=len(vector))
    noisy = np.asarray(vector) + NOISE * noise / np.linalg.norm(noise)
    return (noisy / np.linalg.norm(noisy)).tolist()
