"""The storm: a folder is ingested and embedded while workers and Neo4j are killed and documents change.

At the end, when nothing is due any more, everything is reconciled exactly. Prints one JSON object and, on
standard error, a line for the table of benchmarks/results/robustness.md; ends with 1 when anything is wrong.

A short form for a try: --files 60 --kills 6 --database-kills 1 --pause 2 6 --speed-sources 200
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.stack import machine
from benchmarks.storm.checking import reconciled
from benchmarks.storm.faults import ONTOLOGY, Changer, Clock, Killer, Loss
from benchmarks.storm.stage import Stage, staged
from benchmarks.storm.work import PATIENCE, ingest, texts_of, wait_until, wait_until_nothing_is_due
from kg_api import settings
from kg_api.client import KgClient
from kg_api.providers.embedding import open_embedder
from kg_api.providers.embedding_port import Embedder
from kg_api.settings import load_settings

A_DOCUMENT = 100
BARE_SAMPLE = 600
PARAGRAPHS = """MATCH (s:Source {ontology: $o}) WHERE s.embedding IS NOT NULL
RETURN s.full_text AS text ORDER BY s.source_id LIMIT $n"""
PARAGRAPHS_TO_COME = "MATCH (s:Source {ontology: $o}) RETURN s.full_text AS text ORDER BY s.source_id"
DISTINCT = "MATCH (v:CachedVector) RETURN count(v) AS n"


def main() -> None:
    """Run it."""
    chosen = _arguments()
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)  # it is to be killed
    os.environ["KG_EMBEDDING__PROVIDER"] = chosen.embedder
    if chosen.lease is not None:
        settings.is_constant = lambda _: False  # as in the processes of the stage
        os.environ["KG_WORKER__LEASE_SECONDS"] = str(chosen.lease)
        os.environ["KG_WORKER__HEARTBEAT_SECONDS"] = str(chosen.lease / 3)
    texts = texts_of(chosen.folder, chosen.files)
    embedder = open_embedder(load_settings())
    with staged() as stage, stage.client() as client:
        result = {"machine": machine(), "seed": chosen.seed, **_storm(stage, client, chosen, texts, embedder)}
        result |= _speeds(stage, client, embedder, chosen.speed_sources)
    print(json.dumps(result, indent=2))
    print(_line(result), file=sys.stderr)
    sys.exit(1 if result["wrong"] or result["losses_over_the_bound"] else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=10**6, help="at most so many files")
    parser.add_argument("--kills", type=int, default=30, help="of workers")
    parser.add_argument("--database-kills", type=int, default=5)
    parser.add_argument("--pause", type=float, nargs=2, default=(5.0, 40.0), help="seconds between kills")
    parser.add_argument("--changes", type=float, default=2.0, help="seconds between changes, on average")
    parser.add_argument("--lease", type=float, help="seconds; unset: as kg does")
    parser.add_argument("--embedder", choices=("local", "deterministic"), default="local")
    parser.add_argument("--speed-sources", type=int, default=2000, help="to measure the speed on")
    parser.add_argument("--seed", type=int, default=11)
    return parser.parse_args()


def _storm(
    stage: Stage, client: KgClient, chosen: argparse.Namespace, texts: dict[str, str], embedder: Embedder
) -> dict[str, Any]:
    """Ingest, kill and change at once; then wait, and reconcile."""
    dice = random.Random(chosen.seed)
    begun = time.monotonic()
    with ExitStack() as opened:
        opened.enter_context(stage.working(2))
        clock = opened.enter_context(Clock(stage))
        killer = Killer(stage, clock, chosen.kills, chosen.database_kills, tuple(chosen.pause), dice)
        opened.enter_context(killer)
        ingests = ingest(stage, texts)
        ingested = time.monotonic() - begun
        with Changer(client, texts, chosen.changes, random.Random(chosen.seed)) as changer:
            wait_until(lambda: killer.finished and not clock.waiting, 10 * PATIENCE)
        stormed = time.monotonic() - begun
        wait_until_nothing_is_due(client)
        seconds = time.monotonic() - begun
        found = reconciled(stage, client, embedder, changer.expected)
    return {
        "files": len(texts),
        "ingests": ingests,
        "ingest_seconds": round(ingested, 1),
        "storm_seconds": round(stormed, 1),
        "seconds": round(seconds, 1),
        "worker_kills": killer.done.count("worker"),
        "kills_of_workers_with_a_job": killer.hits,
        "neo4j_kills": killer.done.count("neo4j"),
        "neo4j_away_seconds": _rounded(clock.away),
        "changes": changer.counts,
        "requests_to_repeat": changer.refusals,
        **_recoveries(clock.losses),
        **_embedded_again(stage),
        **found,
    }


def _recoveries(losses: Sequence[Loss]) -> dict[str, Any]:
    """How long jobs of killed workers waited; the bound is for the wait beside a worker without a job."""
    worker = load_settings().worker
    bound = worker.lease_seconds + worker.poll_seconds + 2.0
    calm = [loss.recovered or 0.0 for loss in losses if not loss.database_away]
    beside = [loss.beside_a_free_worker for loss in losses if not loss.database_away]
    return {
        "losses": len(losses),
        "recovery_seconds_median": round(statistics.median(calm), 1) if calm else None,
        "recovery_seconds_longest": round(max(calm), 1) if calm else None,
        "recovery_seconds": _rounded(calm),
        "recovery_seconds_with_neo4j_away": _rounded(
            [loss.recovered or 0.0 for loss in losses if loss.database_away]
        ),
        "bound_seconds": bound,
        "seconds_beside_a_free_worker": _rounded(beside),
        "losses_over_the_bound": sum(each > bound for each in beside),
    }


def _embedded_again(stage: Stage) -> dict[str, Any]:
    """Texts that went through the model against texts that had to: equal ones share a vector."""
    entries = list(stage.log_entries())
    made = sum(
        each["texts"] for each in entries if each.get("event") == "embedded" and each["of"] == "passages"
    )
    needed = stage.rows(DISTINCT)[0]["n"]
    failed = [each for each in entries if each.get("event") in {"job failed", "job failed permanently"}]
    return {
        "texts_embedded": made,
        "texts_needed": needed,
        "embedded_share": round(made / max(needed, 1), 4),
        "failures": len(failed),
    }


def _speeds(stage: Stage, client: KgClient, embedder: Embedder, sources: int) -> dict[str, Any]:
    """What workers embed in a second, one and then two, against the bare embedder on the same texts."""
    found: dict[str, Any] = {}
    for workers in (1, 2):
        name = f"speed-{workers}"
        bare = _bare(embedder, _taken_in(stage, client, sources, name))
        with stage.working(workers):
            speed = _speed(client, name)
        found[f"texts_a_second_{workers}_workers"] = round(speed, 1)
        found[f"bare_texts_a_second_{workers}"] = round(bare, 1)
        found[f"share_of_the_bare_embedder_{workers}_workers"] = round(speed / bare, 3)
    return found


def _taken_in(stage: Stage, client: KgClient, sources: int, name: str) -> list[str]:
    """Store paragraphs of the storm, each with a word that makes it new to the cache; give a sample."""
    rows = stage.rows(PARAGRAPHS, o=ONTOLOGY, n=sources)
    texts = [f"{name} {' '.join(row['text'].split())}" for row in rows]
    for start in range(0, len(texts), A_DOCUMENT):
        text = "\n\n".join(texts[start : start + A_DOCUMENT])
        client.ingest_text(text, ontology=name, document=f"{start}.txt")
    stored = stage.rows(PARAGRAPHS_TO_COME, o=name)
    return [row["text"] for row in random.Random(1).sample(stored, min(BARE_SAMPLE, len(stored)))]


def _bare(embedder: Embedder, texts: list[str]) -> float:
    begun = time.monotonic()
    embedder.embed_passages([text[a:b].strip() for text in texts for a, b in embedder.spans(text)])
    return len(texts) / (time.monotonic() - begun)


def _speed(client: KgClient, ontology: str) -> float:
    """Sources a second from the first that is embedded to the last."""
    total, begun = client.embedding_status(ontology).total, list[tuple[float, int]]()

    def embedded() -> bool:
        done = client.embedding_status(ontology).embedded
        if done and not begun:
            begun.append((time.monotonic(), done))
        return done >= total

    wait_until(embedded, PATIENCE)
    moment, first = begun[0]
    return (total - first) / max(time.monotonic() - moment, 0.001)


def _rounded(seconds: Sequence[float]) -> list[float]:
    return [round(each, 1) for each in seconds]


def _line(result: dict[str, Any]) -> str:
    changes = sum(result["changes"].values())
    shares = [result[f"share_of_the_bare_embedder_{workers}_workers"] for workers in (1, 2)]
    return (
        f"| {result['files']} files, {result['sources']} sources, {changes} changes "
        f"| {result['worker_kills']} workers, {result['neo4j_kills']} Neo4j | {result['seconds']:.0f} s "
        f"| {result['recovery_seconds_median']} / {result['recovery_seconds_longest']} s "
        f"(bound {result['bound_seconds']:.0f}) | {result['embedded_share']} "
        f"| {shares[0]} / {shares[1]} "
        f"| {result['wrong'] or 'nothing wrong'} |"
    )


if __name__ == "__main__":
    main()
