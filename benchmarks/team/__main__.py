"""A team's kg under faults: two services, three workers and one Neo4j, killed at random while people search.

People have keys of several kinds; keys are made and revoked meanwhile; documents change through both
services. Nobody may get anything but a right answer, or 503 with Retry-After; at the end all is reconciled.
Prints one JSON object; ends with 1 when anything is wrong.

A short form for a try: --files 40 --worker-kills 3 --service-kills 3 --neo4j-kills 1
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stack import machine
from benchmarks.storm.checking import reconciled
from benchmarks.storm.faults import ONTOLOGY, Changer
from benchmarks.storm.stage import Stage, staged
from benchmarks.storm.work import PATIENCE, ingest, texts_of, wait_until, wait_until_nothing_is_due
from benchmarks.team.clients import OTHER, Client, kinds_of_clients
from benchmarks.team.faults import KeyKeeper, RandomKiller
from benchmarks.team.services import Service, make_key, story, two_services
from kg_api.client import KgClient
from kg_api.providers.embedding import open_embedder
from kg_api.settings import load_settings

WORKERS = 3
MOST_WRONG_SHOWN = 20
OTHERS_TEXT = "\n\n".join(f"Note {number} of people who see nothing else." for number in range(200))


def main() -> None:
    """Run it."""
    chosen = _arguments()
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)  # it is to be killed
    os.environ["KG_EMBEDDING__PROVIDER"] = chosen.embedder
    texts = texts_of(chosen.folder, chosen.files)
    with staged(("neo4j",)) as stage, two_services(stage) as services, stage.working(WORKERS):
        result = {"machine": machine(), "seed": chosen.seed, **_storm(stage, services, chosen, texts)}
    print(json.dumps(result, indent=2))
    sys.exit(1 if result["wrong"] or result["wrong_answers"] else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=150, help="at most so many files")
    parser.add_argument("--worker-kills", type=int, default=20)
    parser.add_argument("--service-kills", type=int, default=15)
    parser.add_argument("--neo4j-kills", type=int, default=4)
    parser.add_argument("--pause", type=float, nargs=2, default=(3.0, 15.0), help="seconds between kills")
    parser.add_argument("--changes", type=float, default=3.0, help="seconds between changes, on average")
    parser.add_argument("--clients", type=int, default=2, help="of each kind")
    parser.add_argument("--embedder", choices=("local", "deterministic"), default="local")
    parser.add_argument("--seed", type=int, default=11)
    return parser.parse_args()


def _storm(
    stage: Stage, services: Sequence[Service], chosen: argparse.Namespace, texts: dict[str, str]
) -> dict[str, Any]:
    keys = {
        "reader": make_key(stage, "reader", "read", ONTOLOGY),
        "other": make_key(stage, "other", "read", OTHER),
    }
    ingest(stage, texts)
    writers = _clients(services, make_key(stage, "writer", "write"))
    writers[0].ingest_text(OTHERS_TEXT, ontology=OTHER, document="notes.txt")
    wait_until_nothing_is_due(writers[0])
    begun = time.monotonic()
    with ExitStack() as opened:
        changers = [
            opened.enter_context(Changer(writer, half, 2 * chosen.changes, random.Random(at), f"added-{at}"))
            for at, (writer, half) in enumerate(zip(writers, _halves(texts), strict=True))
        ]
        people = [
            opened.enter_context(Client(kind, services, seed))
            for kind in kinds_of_clients(texts, keys)
            for seed in range(chosen.clients)
        ]
        admin = _clients(services, make_key(stage, "admin", "admin"))
        keeper = opened.enter_context(KeyKeeper(admin, services, chosen.seed))
        killer = opened.enter_context(_killer(stage, services, chosen))
        wait_until(lambda: killer.finished, PATIENCE)
    stormed = time.monotonic() - begun
    wait_until_nothing_is_due(writers[0])
    expected = changers[0].expected | changers[1].expected
    wrong = Counter([*keeper.wrong, *(each for one in people for each in one.wrong)])
    return {
        "files": len(texts),
        "storm_seconds": round(stormed, 1),
        "kills": dict(killer.done),
        "changes": [changer.counts for changer in changers],
        "requests_to_repeat": sum(changer.refusals for changer in changers),
        "keys": dict(keeper.counts),
        "answers": _answers(people),
        "wrong_answers": dict(wrong.most_common(MOST_WRONG_SHOWN)),
        **story(stage, services),
        **reconciled(stage, writers[0], open_embedder(load_settings()), expected),
    }


def _clients(services: Sequence[Service], key: str) -> list[KgClient]:
    return [KgClient(each.url, api_key=key, timeout_seconds=120) for each in services]


def _halves(texts: dict[str, str]) -> list[dict[str, str]]:
    names = sorted(texts)
    return [{name: texts[name] for name in names[at::2]} for at in (0, 1)]


def _killer(stage: Stage, services: Sequence[Service], chosen: argparse.Namespace) -> RandomKiller:
    numbers = {"worker": chosen.worker_kills, "service": chosen.service_kills, "neo4j": chosen.neo4j_kills}
    plan = [victim for victim, number in numbers.items() for _ in range(number)]
    return RandomKiller(stage, services, plan, tuple(chosen.pause), chosen.seed)


def _answers(people: Sequence[Client]) -> dict[str, Any]:
    """By kind of client: how often each status came, and how long answers took."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(one.kind.name for one in people):
        group = [one for one in people if one.kind.name == name]
        counts = sum((one.counts for one in group), Counter[str]())
        taken = [each for one in group for each in one.taken] or [0.0]
        p50, p95 = (round(float(np.percentile(taken, share)), 1) for share in (50, 95))
        found[name] = {**counts, "p50_ms": p50, "p95_ms": p95, "longest_ms": round(max(taken), 1)}
    return found


if __name__ == "__main__":
    main()
