"""From files to vectors: sources a second into Neo4j, passages a second embedded, the raw embedder beside.

With --kills, worker and Neo4j are killed with SIGKILL that many times in the middle; at the end the vectors
are counted and compared, one by one, with what the embedder gives for the stored text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.processes import Watched
from benchmarks.stack import Stack, machine, stack, stored_vectors
from kg_api.client import KgClient
from kg_api.errors import KgError
from kg_api.providers.embedding import open_embedder
from kg_api.providers.embedding_port import Embedder
from kg_api.settings import load_settings

ONTOLOGY = "benchmark"
RAW_SAMPLE = 600
CHECKED_SAMPLE = 500


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=0)
    chosen = parser.parse_args()
    embedder = open_embedder(load_settings())
    with stack() as running:
        result: dict[str, Any] = {"machine": machine(), **_ingest(running, chosen.folder)}
        with running.client() as client:
            result["found_while_embedding"] = len(
                client.search_sources("guido", ontology=ONTOLOGY, mode="text").sources
            )
            result |= _embed(running, client, chosen.kills)
        result |= _check(running, embedder)
    print(json.dumps(result, indent=2))


def _ingest(running: Stack, folder: Path) -> dict[str, Any]:
    before = _rss(running)
    begun = time.monotonic()
    told = json.loads(running.kg("ingest", str(folder), "--ontology", ONTOLOGY, "--json"))
    seconds = time.monotonic() - begun
    sources = sum(each["sources"]["added"] for each in told["documents"])
    return {
        "documents": len(told["documents"]),
        "failed": told["failed"],
        "sources": sources,
        "ingest_seconds": round(seconds, 1),
        "sources_per_second": round(sources / seconds, 1),
        "rss_mb_before_ingest": before,
        "rss_mb_after_ingest": _rss(running),
    }


def _embed(running: Stack, client: KgClient, kills: int) -> dict[str, Any]:
    """Wait for the embedding, killing on the way; measure its speed."""
    total = client.embedding_status(ONTOLOGY).total
    moments = sorted(random.sample(range(20, 80), kills))
    first, begun, recoveries = _embedded(client), time.monotonic(), list[float]()
    while (done := _embedded(client)) < total:
        if moments and done * 100 >= moments[0] * total:
            moments.pop(0)
            recoveries.append(_kill_and_recover(running, client))
        time.sleep(0.5)
    seconds = time.monotonic() - begun
    return {
        "kills": kills,
        "recovery_seconds": [round(each, 1) for each in recoveries],
        "embed_seconds": round(seconds, 1),
        "passages_per_second": round((total - first) / seconds, 1),
        "rss_mb_at_end": _rss(running),
    }


def _embedded(client: KgClient) -> int:
    try:
        return client.embedding_status(ONTOLOGY).embedded
    except KgError:  # Neo4j is being killed
        return 0


def _kill_and_recover(running: Stack, client: KgClient) -> float:
    """Kill worker and Neo4j; give the seconds until a vector more is there."""
    before = _embedded(client)
    for role in ("worker", "neo4j"):
        if pid := running.pid(role):
            os.kill(pid, signal.SIGKILL)
    begun = time.monotonic()
    running.kg("up")
    while _embedded(client) <= before:
        time.sleep(0.2)
    return time.monotonic() - begun


def _check(running: Stack, embedder: Embedder) -> dict[str, Any]:
    """Count, compare a sample with the embedder, and measure the raw embedder on the same texts."""
    with running.client() as client:
        status = client.embedding_status(ONTOLOGY).model_dump()
    rows = stored_vectors(running, ONTOLOGY)
    whole = [row for row in rows if not row["chunks"]]
    wrong = [row for row in whole if len(row["vector"] or []) != embedder.identity.dimensions]
    sample = random.Random(7).sample(whole, min(CHECKED_SAMPLE, len(whole)))
    again = embedder.embed_passages([row["text"].strip() for row in sample])
    same = sum(
        np.array_equal(np.asarray(row["vector"], dtype=np.float32), vector)
        for row, vector in zip(sample, again, strict=True)
    )
    return {
        "status": status,
        "sources_without_right_vector": len(wrong),
        "checked": len(sample),
        "identical_to_embedder": same,
        **_raw_speed(embedder, [row["text"] for row in random.Random(1).sample(rows, RAW_SAMPLE)]),
    }


def _raw_speed(embedder: Embedder, texts: Sequence[str]) -> dict[str, Any]:
    begun = time.monotonic()
    embedder.embed_passages([text[a:b].strip() for text in texts for a, b in embedder.spans(text)])
    return {"raw_passages_per_second": round(len(texts) / (time.monotonic() - begun), 1)}


def _rss(running: Stack) -> dict[str, int]:
    """Memory of each process, MiB."""
    return Watched(running.pids()).memory_mb()


if __name__ == "__main__":
    main()
