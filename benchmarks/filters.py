"""Filters over 20,000 documents: milliseconds of choosing, recall@10 against each vector, no hit missing."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.stack import Stack, machine, stack, stored_vectors
from kg_api.client import KgClient
from kg_api.graph.client import Graph, split_into_portions
from kg_api.graph.document_writes import store_documents
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.schemas.base import build_document_id, build_source_ids, compute_digest, hash_content
from kg_api.schemas.documents import DocumentRecord, SourceBlock, SourceRecord
from kg_api.schemas.filters import Condition, parse_condition
from kg_api.schemas.search import SourceHit

ONTOLOGY, CLUSTERS, DIMENSIONS, TOP, REPEATS = "numbers", 200, 256, 10, 9
FILTERS: dict[str, list[str]] = {
    "90 %, range": ["number>={tenth}"],
    "50 %, range": ["number<{half}"],
    "50 %, kind": ["kind=even"],
    "50 %, absence": ["kind!=even"],
    "50 %, dates": ["date>=2020-07"],
    "5 %, author": ["author=author 7"],
    "5 %, two": ["kind=even", "number<{tenth}"],
    "0.5 %, tag": ["tags=tag 11"],
    "0.5 %, tag contains": ["tags contains tag 11"],
    "0.05 %, range": ["number>={last}"],
    "1, name": ["document=00017.md"],
    "none": ["author=nobody"],
}


def record(number: int) -> DocumentRecord:
    """A document of one passage: words of its cluster and some of its own."""
    name, cluster = f"{number:05}.md", number * 7919 % CLUSTERS
    text = (
        f"cluster{cluster} about{cluster} of{cluster} number{number} word{number % 613} said{number % 1009}\n"
    )
    identity = build_document_id(ONTOLOGY, name)
    content = hash_content(text)
    (source_id,) = build_source_ids(identity, [content])
    source = SourceRecord(source_id, 0, (), text, content, 0, len(text), (SourceBlock("paragraph", 0),))
    plain = DocumentRecord(
        document_id=identity,
        ontology=ONTOLOGY,
        document=name,
        title=f"Number {number}",
        uri=f"file:///numbers/{name}",
        format="text",
        content_hash=compute_digest(text),
        characters=len(text),
        metadata="{}",
        sources=(source,),
    )
    return replace(plain, metadata=json.dumps(metadata(number)))


def metadata(number: int) -> dict[str, Any]:
    """What is told of a document."""
    return {
        "number": number,
        "kind": "odd" if number % 2 else "even",
        "author": f"author {number % 20}",
        "date": f"{2015 + number % 11}-{1 + number % 12:02}-{1 + number % 28:02}",
        "tags": [f"tag {number % 199}", f"tag {200 + number % 31}"],
        "note": f"what somebody noted of number {number}",
    }


def filters(documents: int) -> dict[str, list[str]]:
    """The conditions that are measured."""
    given = {"tenth": documents // 10, "half": documents // 2, "last": documents - documents // 2000}
    return {name: [each.format(**given) for each in where] for name, where in FILTERS.items()}


def fill(graph: Graph, documents: int) -> float:
    """Store them; give how many a second."""
    begun = time.perf_counter()
    for part in split_into_portions(range(documents), 500):
        store_documents(graph, [record(number) for number in part])
    return documents / (time.perf_counter() - begun)


def median_ms(work: Callable[[], object]) -> float:
    """Of some repetitions, after one that warms up."""
    work()
    took = list[float]()
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        took.append(1000 * (time.perf_counter() - begun))
    return round(statistics.median(took), 1)


def conditions(where: Sequence[str]) -> list[Condition]:
    """As the models take them."""
    return [Condition.model_validate(parse_condition(each)) for each in where]


def measure(running: Stack, documents: int) -> dict[str, Any]:
    """Ask the running service."""
    rows = stored_vectors(running, ONTOLOGY)
    with running.client() as client:
        return {name: _one(client, rows, where) for name, where in filters(documents).items()}


def _one(client: KgClient, rows: list[dict[str, Any]], where: list[str]) -> dict[str, Any]:
    chosen = {each.document for each in _all(client, where)}
    return {"documents": len(chosen), **_searched(client, rows, where, chosen)}


def _all(client: KgClient, where: list[str]) -> list[Any]:
    found, page = list[Any](), client.documents(where=where, limit=500)
    while page.documents:
        found += page.documents
        page = client.documents(where=where, limit=500, offset=len(found))
    return found


def _searched(
    client: KgClient, rows: list[dict[str, Any]], where: list[str], chosen: set[str]
) -> dict[str, Any]:
    within = [row for row in rows if f"{int(row['text'].split('number')[1].split()[0]):05}.md" in chosen]
    matrix = np.asarray([row["vector"] for row in within], dtype=np.float32).reshape(-1, DIMENSIONS)
    embedder, shares, took, short = DeterministicEmbedder(DIMENSIONS), [], {}, 0
    for mode in ("vector", "text", "hybrid"):
        stages = list[dict[str, float]]()
        for cluster in range(0, CLUSTERS, CLUSTERS // 20):
            question = f"cluster{cluster} about{cluster} word{cluster} said{cluster}"
            found = client.search_sources(question, mode=mode, limit=TOP, where=where)
            stages.append(found.timings_ms)
            if mode == "vector":
                best = np.sort(matrix @ embedder.embed_query(question))[::-1][:TOP]
                least = best[-1] - 1e-4 if len(best) else 2
                near = [each for each in map(_similarity, found.sources) if each >= least]
                shares.append(len(near) / max(1, len(best)))
                short += len(found.sources) < len(best)
        took[mode] = {
            stage: round(statistics.median(each.get(stage, 0) for each in stages), 1)
            for stage in ("filter", "total")
        }
    return {"recall@10": round(statistics.mean(shares), 4) if within else None, "short": short, **took}


def _similarity(hit: SourceHit) -> float:
    return -1 if hit.similarity is None else hit.similarity  # 0 is one, of texts without a common word


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    chosen = parser.parse_args()
    os.environ |= {"KG_EMBEDDING__PROVIDER": "deterministic", "KG_RERANK__PROVIDER": "none"}
    with stack() as running:
        with running.graph() as graph:
            speed = fill(graph, chosen.documents)
        running.rest()
        told = {"machine": machine(), "documents": chosen.documents, "stored a second": round(speed)}
        print(json.dumps({**told, "filters": measure(running, chosen.documents)}, indent=2))


if __name__ == "__main__":
    main()
