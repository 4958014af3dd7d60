from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import neo4j

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.relations import merge_types, unmerge_types
from kg_api.schemas.concepts import ExtractedRelation, TypeMerging
from tests.support.concepts import extraction, found, quote, write
from tests.support.cypher import rows
from tests.support.records import record

SOURCES = 60
TOLD = (
    "MATCH ()-[r:RELATED_TO]->() RETURN r.stated_type AS stated, r.type AS type, count(*) AS n "
    "ORDER BY stated"
)


def test_renamed_type_is_read_consistently(graph: Graph, driver: neo4j.Driver) -> None:
    document = record("a.md", [f"Worker{at} uses lease{at}." for at in range(SOURCES)])
    store_document(graph, document)

    def relate(at: int) -> None:
        text, ends = document.sources[at].full_text, (f"Worker{at}", f"lease{at}")
        concepts = [found(each, quote(text, each)) for each in ends]
        kind = "requires" if at % 2 else "needs"
        write(
            graph, extraction(document, at, *concepts, relations=(ExtractedRelation(ends[0], kind, ends[1]),))
        )

    relate(0)
    relate(1)
    asked = TypeMerging(into="requires", merged=["needs"])
    with ThreadPoolExecutor(6) as threads:
        half = threads.map(relate, range(2, SOURCES // 2))
        merge = threads.submit(merge_types, graph, "notes", asked)
        rest = threads.map(relate, range(SOURCES // 2, SOURCES))
        assert len([*half, *rest]) == SOURCES - 2
    half_of_all = SOURCES // 2
    assert rows(driver, TOLD) == [
        {"stated": "needs", "type": "requires", "n": half_of_all},
        {"stated": "requires", "type": "requires", "n": half_of_all},
    ]
    unmerge_types(graph, "notes", str(merge.result().merge_id), "Ada")
    assert [(row["stated"], row["type"]) for row in rows(driver, TOLD)] == [
        ("needs", "needs"),
        ("requires", "requires"),
    ]
