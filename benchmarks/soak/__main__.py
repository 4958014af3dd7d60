"""A soak: searches, reading, writing, pictures, pages, streams and agents, for 20 minutes; what grows.

    python -m benchmarks.soak ../shared/data/python_peps/rst

Prints one JSON object: for each process what memory, handles, threads and connections grow by in an hour,
after the first minutes; what was done and what failed. Ends with 1 where anything failed, grows or is left.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.soak.load import ONTOLOGY, Doing, Target, everything
from benchmarks.soak.sampling import Sampler, slopes
from benchmarks.stack import Stack, machine, stack
from benchmarks.storm.work import texts_of

MOST_LOGGED, MOST_SHOWN = 10, 1500
MOST_AN_HOUR = {"memory_mb": 200.0, "handles": 20.0, "threads": 20.0, "connections": 20.0}
"""Growth that its interval of 95 % lies above is wrong."""
BOUNDED = {("neo4j", "memory_mb")}
"""Grows to what its settings allow (heap and page cache), and is told only."""
LARGEST_TEXT = 30_000
"""Characters of a document: many small changes rather than a few large ones."""
TRANSACTIONS = "SHOW TRANSACTIONS YIELD transactionId RETURN count(*) AS n"


def main() -> None:
    """Run it."""
    chosen = _arguments()
    texts = [text[:LARGEST_TEXT] for text in texts_of(chosen.folder, chosen.files).values()]
    with stack() as running:
        result = {"machine": machine(), "minutes": chosen.minutes, **_soak(running, chosen, texts)}
    print(json.dumps(result, indent=2))
    sys.exit(1 if result["wrong"] else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=60, help="so many texts come and go")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--warm-up", type=float, default=5.0, help="minutes that are not looked at")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between things of one kind")
    return parser.parse_args()


def _soak(running: Stack, chosen: argparse.Namespace, texts: Sequence[str]) -> dict[str, Any]:
    target = Target(running.home.build_api_url() or "", _phrases(texts), texts)
    with running.client() as client:
        client.ingest_text(texts[0], ontology=ONTOLOGY, document="first.txt")
    with Sampler(running.pids()) as sampler, everything(target, chosen.pause) as doings:
        time.sleep(60 * chosen.minutes)
    with running.driver() as driver:
        left = driver.execute_query(TRANSACTIONS).records[0]["n"] - 1  # the question itself
    result: dict[str, Any] = {
        "done": {each.name: _of(each) for each in doings},
        "slopes": {role: slopes(series, 60 * chosen.warm_up) for role, series in sampler.series.items()},
        "transactions_left": left,
        "logged": dict(_logged(running).most_common(MOST_LOGGED)),
    }
    return {**result, "wrong": list(_wrong(result))}


def _wrong(result: dict[str, Any]) -> Iterator[str]:
    """What nobody would leave running for a week."""
    for name, done in result["done"].items():
        if done["failures"] or not done["times"]:
            yield f"{name}: failed, or was not done"
    for role, measures in result["slopes"].items():
        for name, line in measures.items():
            if (role, name) not in BOUNDED and line["an_hour"] - line["plus_minus"] > MOST_AN_HOUR[name]:
                yield f"{role}: {name} grow by {line['an_hour']} an hour"
    if result["transactions_left"] > 0 or result["logged"]:
        yield "transactions are left, or errors were logged"


def _logged(running: Stack) -> Counter[str]:
    """What services and workers logged as errors."""
    lines = [
        line
        for log in running.home.logs.glob("*.log")
        for line in log.read_text("utf-8", "replace").splitlines()
    ]
    entries = [json.loads(line) for line in lines if '"level": "error"' in line]
    return Counter(f"{each['event']}: {str(each.get('exception', ''))[-MOST_SHOWN:]}" for each in entries)


def _phrases(texts: Sequence[str]) -> list[str]:
    words = sorted({word for text in texts for word in text.split() if word.isalpha()})
    dice = random.Random(7)
    return [" ".join(dice.sample(words, 3)) for _ in range(500)]


def _of(doing: Doing) -> dict[str, Any]:
    return {"times": doing.done, "failures": dict(doing.failures.most_common(5))}


if __name__ == "__main__":
    main()
