"""Concepts of a folder without a language model: how many, how fast, and whether every quote is true.

    python -m benchmarks.concept_extraction ../shared/data/python_peps/rst

Prints one JSON object: sources, concepts, appearances and quotes; sources a second of the worker's job; CPU
in milliseconds a source by process, taking in included; the quotes whose text is not what their source has at
their place (none may be); and ten concepts taken at random, each with a quote, for reading.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import neo4j

from benchmarks.processes import Watched
from benchmarks.stack import Stack, machine, stack
from kg_api.schemas.operations import FINISHED

ONTOLOGY = "folder"
COUNTS = """MATCH (s:Source {ontology: $o}) WITH count(s) AS sources, count(s.extracted_with) AS read,
  count(CASE WHEN EXISTS { (s)<-[:APPEARS_IN]-() } THEN 1 END) AS carrying
MATCH (c:Concept {ontology: $o}) WITH sources, read, carrying, count(c) AS concepts,
  count(CASE WHEN COUNT { (c)-[:APPEARS_IN]->() } > 1 THEN 1 END) AS shared
RETURN sources, read, carrying, concepts, shared,
  COUNT { (:Concept {ontology: $o})-[:APPEARS_IN]->(:Source) } AS appearances,
  COUNT { (:Concept {ontology: $o})-[:EVIDENCED_BY]->(:Instance) } AS quotes"""
WRONG = """MATCH (c:Concept {ontology: $o})-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s:Source)
WHERE substring(s.full_text, i.start, i.end - i.start) <> i.quote OR NOT (c)-[:APPEARS_IN]->(s)
RETURN count(*) AS wrong"""
UNITS = """MATCH (i:Instance {ontology: $o})-[:FROM_SOURCE]->(s:Source)
RETURN i.instance_id AS id, i.start AS start, i.end AS end, i.quote AS quote, s.full_text AS text"""
RANDOM = """MATCH (c:Concept {ontology: $o}) WITH c ORDER BY rand() LIMIT 10
MATCH (c)-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s:Source)
WITH c, i, s ORDER BY i.instance_id
WITH c, collect([s.document, i.quote])[0] AS shown
RETURN c.label AS label, COUNT { (c)-[:APPEARS_IN]->() } AS sources,
  shown[0] AS document, shown[1] AS quote"""


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    with stack() as running:
        with running.client() as client:
            client.set_embedding_config(ONTOLOGY, embed_on_ingest=False)
        watched = Watched(running.pids())
        before, begun = watched.cpu_seconds(), time.perf_counter()
        running.kg("ingest", folder, "--ontology", ONTOLOGY)
        ingested = time.perf_counter() - begun
        jobs = extracted(running)
        spent = {role: seconds - before[role] for role, seconds in watched.cpu_seconds().items()}
        shares = {role: round(1000 * seconds / jobs["done"], 2) for role, seconds in spent.items()}
        found = {"ingest_s": round(ingested, 1), **jobs, "cpu_ms_a_source": shares, **looked_at(running)}
        print(json.dumps({**machine(), **found}, indent=1))


def extracted(running: Stack) -> dict[str, Any]:
    """Wait for the job; what it did and how long the worker took."""
    while True:
        with running.client() as kg:
            jobs = kg.jobs(ontology=ONTOLOGY, kind="concept_extraction").jobs
        if jobs and all(job.state in FINISHED for job in jobs):
            break
        time.sleep(1)
    seconds = sum(
        (job.finished_at - job.started_at).total_seconds()
        for job in jobs
        if job.finished_at and job.started_at
    )
    done = sum(job.done for job in jobs)
    return {"jobs": [job.state for job in jobs], "done": done, "sources_a_second": round(done / seconds, 1)}


def looked_at(running: Stack) -> dict[str, Any]:
    """Counts, proof and examples, read behind the product's back."""
    with running.driver() as driver:

        def rows(query: Any) -> list[dict[str, Any]]:
            return driver.execute_query(query, o=ONTOLOGY, result_transformer_=neo4j.Result.data)

        beyond_bmp = [
            each["id"] for each in rows(UNITS) if each["text"][each["start"] : each["end"]] != each["quote"]
        ]
        return {
            **rows(COUNTS)[0],
            "wrong_quotes": len(beyond_bmp),
            "wrong_by_cypher": rows(WRONG)[0]["wrong"],
            "examples": rows(RANDOM),
        }


if __name__ == "__main__":
    main()
