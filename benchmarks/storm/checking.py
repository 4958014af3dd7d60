"""After the storm: everything is counted in the database itself, behind the product's back."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

from benchmarks.storm.faults import ONTOLOGY
from benchmarks.storm.stage import Rows, Stage
from kg_api.client import KgClient
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.base import build_document_id

COMPARED, ASKED = 500, 100

COUNTS = {
    "documents": "MATCH (d:Document {ontology: $o}) RETURN count(d) AS n",
    "sources": "MATCH (s:Source {ontology: $o}) RETURN count(s) AS n",
    "chunks": "MATCH (c:Chunk {ontology: $o}) RETURN count(c) AS n",
}
WRONG = {
    "documents_whose_count_of_sources_is_wrong": """MATCH (d:Document {ontology: $o})
        WHERE d.sources <> COUNT { (:Source)-[:PART_OF]->(d) } RETURN count(d) AS n""",
    "sources_without_document": "MATCH (s:Source) WHERE NOT (s)-[:PART_OF]->(:Document) RETURN count(s) AS n",
    "sources_twice_at_one_place": """MATCH (s:Source {ontology: $o})
        WITH s.document_id AS d, s.paragraph AS p, count(*) AS n WHERE n > 1 RETURN count(*) AS n""",
    "sources_without_mark": """MATCH (s:Source {ontology: $o}) WHERE s.embedded_with IS NULL
        RETURN count(s) AS n""",
    "marks_beyond_one": """MATCH (s:Source {ontology: $o})
        RETURN CASE WHEN count(DISTINCT s.embedded_with) > 1 THEN 1 ELSE 0 END AS n""",
    "sources_with_neither_vector_nor_chunk": """MATCH (s:Source {ontology: $o})
        WHERE s.embedding IS NULL AND NOT (:Chunk)-[:CHUNK_OF]->(s) RETURN count(s) AS n""",
    "sources_with_both": """MATCH (s:Source {ontology: $o})
        WHERE s.embedding IS NOT NULL AND (:Chunk)-[:CHUNK_OF]->(s) RETURN count(s) AS n""",
    "chunks_without_source": "MATCH (c:Chunk) WHERE NOT (c)-[:CHUNK_OF]->(:Source) RETURN count(c) AS n",
    "chunks_that_lost_a_source": """MATCH (c:Chunk)
        WHERE c.sources <> COUNT { (c)-[:CHUNK_OF]->(:Source) } RETURN count(c) AS n""",
    "chunks_without_vector": "MATCH (c:Chunk) WHERE c.embedding IS NULL RETURN count(c) AS n",
    "chunks_twice": """MATCH (c:Chunk) WITH c.space AS space, c.source_ids AS ids, c.offset AS a,
        c.end_offset AS b, count(*) AS n WHERE n > 1 RETURN count(*) AS n""",
    "finished_jobs_that_hold_their_key": """MATCH (j:Job)
        WHERE NOT j.state IN ['queued', 'running'] AND j.unique_key IS NOT NULL RETURN count(j) AS n""",
}
DOCUMENT_IDS = "MATCH (d:Document {ontology: $o}) RETURN d.document_id AS id"
UNFINISHED = """MATCH (j:Job) WHERE j.state IN ['queued', 'running'] AND j.kind <> 'backfill'
RETURN j.job_id AS id"""
END_SECONDS = 300.0
"""For so long a job that began by the clock may take, such as a look for links; after that it is stuck."""
VECTORS = """MATCH (s:Source {ontology: $o}) WHERE s.embedding IS NOT NULL
RETURN elementId(s) AS id, s.full_text AS text, s.embedding AS vector
UNION ALL
MATCH (c:Chunk {ontology: $o})-[:CHUNK_OF]->(s:Source) WHERE c.sources = 1
RETURN elementId(c) AS id, substring(s.full_text, c.offset, c.end_offset - c.offset) AS text,
       c.embedding AS vector"""
FOUND = """CALL db.index.vector.queryNodes('passage_embedding', $depth, $vector) YIELD node
WITH collect(node) AS found
RETURN any(node IN found WHERE elementId(node) = $id OR node.embedding = $vector) AS found"""
"""Equal texts have equal vectors: any of them will do."""
NEAR = 20


def reconciled(
    stage: Stage, client: KgClient, embedder: Embedder, expected: dict[str, str]
) -> dict[str, Any]:
    """Compare what there is with what there shall be; `wrong` names everything that is not 0."""
    counts = {name: _number(stage, text) for name, text in COUNTS.items()}
    vectors = stage.rows(VECTORS, o=ONTOLOGY)
    found: dict[str, int] = {name: _number(stage, text) for name, text in WRONG.items()}
    found |= _documents(stage, client, expected)
    sample = random.Random(8).sample(vectors, min(ASKED, len(vectors)))
    passed_by = _hidden(stage, sample, NEAR)  # an index may pass by a near one: it is approximate
    lost = _hidden(stage, passed_by, max(NEAR, len(vectors)))
    found |= {f"of_{len(sample)}_vectors_not_in_the_index": len(lost)}
    found |= _vectors(vectors, embedder) | {"stuck_jobs": _stuck(stage)}
    return {
        **counts,
        "vectors": len(vectors),
        f"of_{len(sample)}_not_among_the_nearest_{NEAR}": len(passed_by),
        "wrong": {name: n for name, n in found.items() if n},
        "looked_for": list(found),
    }


def _number(stage: Stage, text: str) -> int:
    return int(stage.rows(text, o=ONTOLOGY)[0]["n"])


def _stuck(stage: Stage) -> int:
    """How many of the jobs that are there now do not come to their end."""
    at_first, deadline = {row["id"] for row in stage.rows(UNFINISHED)}, time.monotonic() + END_SECONDS
    while left := at_first & {row["id"] for row in stage.rows(UNFINISHED)}:
        if time.monotonic() > deadline:
            return len(left)
        time.sleep(1)
    return 0


def _documents(stage: Stage, client: KgClient, expected: dict[str, str]) -> dict[str, int]:
    """Whether the documents are those that were stored last: storing them again changes no source."""
    known = {row["id"] for row in stage.rows(DOCUMENT_IDS, o=ONTOLOGY)}
    wanted = {build_document_id(ONTOLOGY, name) for name in expected}
    previews = [
        client.preview_bytes(text.encode(), ontology=ONTOLOGY, document=name)
        for name, text in expected.items()
    ]
    changed = sum(bool(each.sources.added or each.sources.removed) for each in previews)
    return {
        "documents_missing": len(wanted - known),
        "documents_too_many": len(known - wanted),
        "documents_of_another_text": changed,
    }


def _vectors(rows: Rows, embedder: Embedder) -> dict[str, int]:
    """Size and numbers of all vectors; a sample against fresh ones, byte by byte."""
    size = embedder.identity.dimensions
    sized = [row for row in rows if len(row["vector"] or []) == size]
    stored = np.array([row["vector"] for row in sized], dtype=np.float32)
    sample = random.Random(7).sample(range(len(sized)), min(COMPARED, len(sized)))
    fresh = embedder.embed_passages([sized[number]["text"].strip() for number in sample])
    different = sum(
        stored[number].tobytes() != vector.tobytes() for number, vector in zip(sample, fresh, strict=True)
    )
    return {
        "vectors_of_wrong_size": len(rows) - len(sized),
        "vectors_not_finite": int((~np.isfinite(stored).all(axis=1)).sum()),
        "vectors_zero": int((~stored.any(axis=1)).sum()),
        f"of_{len(sample)}_vectors_not_identical_to_fresh_ones": different,
    }


def _hidden(stage: Stage, rows: Rows, depth: int) -> Rows:
    """Vectors that the index does not find among so many that are near to them, although they are stored."""
    asked = [(row, {"id": row["id"], "vector": row["vector"], "depth": depth}) for row in rows]
    return [row for row, given in asked if not stage.rows(FOUND, **given)[0]["found"]]
