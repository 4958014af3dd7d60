"""A change of model while people search: errors, answers that mix spaces, p95 before, during and after.

A folder is ingested and embedded, then built in a space of another model, checked, activated, rolled back and
activated again, while searches come at a fixed rate all the time.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stack import Stack, machine, stack
from kg_api.client import KgClient
from kg_api.errors import KgError

ONTOLOGY = "benchmark"
NEW = "new_model"
CONCEPT_SECONDS = 300
QUIET_SECONDS = 20.0
QUESTIONS = (
    *(
        "how are type hints checked",
        "what replaces the old import system",
        "why was the walrus operator added",
    ),
    *("how does a release get its number", "what is a namespace package", "rules for naming variables"),
    *("how do generators delegate to others", "what happens to the global interpreter lock"),
)


@dataclass(frozen=True, slots=True)
class Answered:
    """One search: in which phase, how long, and what it told."""

    phase: str
    seconds: float
    spaces: tuple[str, ...]
    mixed: bool
    degraded: bool
    error: str | None = None


@dataclass
class Load:
    """Searches at a fixed rate, each in a thread of its own."""

    url: str
    rate: float
    questions: Sequence[str] = QUESTIONS
    phase: str = "before"
    answers: list[Answered] = field(default_factory=list[Answered])
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Ask until told to stop; a search that is late does not make the next one late."""
        with KgClient(self.url) as client, ThreadPoolExecutor(64) as pool:
            begun, asked = time.monotonic(), 0
            while not self.stopping.is_set():
                pool.submit(self._ask, client, self.questions[asked % len(self.questions)])
                asked += 1
                time.sleep(max(0.0, begun + asked / self.rate - time.monotonic()))

    def search(self, client: KgClient, question: str) -> tuple[list[str], set[str], bool]:
        """The spaces that an answer names, those of its hits, and whether it is degraded."""
        hits = client.search_sources(question, ontology=ONTOLOGY, limit=10)
        return hits.spaces, {hit.space for hit in hits.sources if hit.space is not None}, bool(hits.degraded)

    def _ask(self, client: KgClient, question: str) -> None:
        phase, begun = self.phase, time.monotonic()
        try:
            named, spaces, degraded = self.search(client, question)
        except KgError as error:
            self.answers.append(Answered(phase, time.monotonic() - begun, (), False, False, repr(error)))
            return
        mixed = len(named) != 1 or not spaces <= set(named)
        self.answers.append(Answered(phase, time.monotonic() - begun, tuple(named), mixed, degraded))


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rate", type=float, default=10.0, help="searches a second")
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    chosen = parser.parse_args()
    with stack() as running:
        running.kg("ingest", str(chosen.folder), "--ontology", ONTOLOGY, "--wait")
        with running.client() as client:
            print(json.dumps({"machine": machine(), **_switched(running, client, chosen)}, indent=2))


def _switched(running: Stack, client: KgClient, chosen: argparse.Namespace) -> dict[str, Any]:
    load = Load(running.home.build_api_url() or "", chosen.rate)
    thread = threading.Thread(target=load.run)
    thread.start()
    try:
        steps = _steps(client, load, chosen.model)
    finally:
        load.stopping.set()
        thread.join()
    return {
        "sources": client.embedding_status(ONTOLOGY).total,
        "rate": chosen.rate,
        **steps,
        **told(load, ("default", NEW)),
    }


def _steps(client: KgClient, load: Load, model: str) -> dict[str, Any]:
    """Everything that a switch is made of, each with its seconds."""
    time.sleep(QUIET_SECONDS)
    client.add_embedding_space(NEW, provider="local", model=model)
    load.phase = "during"
    built = timed(lambda: _build(client))
    followed = timed(lambda: _wait_for_concepts(client))
    checked = timed(lambda: _require_right(client))
    seconds = {"activate": client.activate_space(NEW).seconds}
    load.phase = "after"
    time.sleep(QUIET_SECONDS)
    seconds["rollback"] = client.rollback_space(NEW).seconds
    answering = timed(lambda: until(lambda: load.answers[-1].spaces == ("default",)))
    seconds["activate_again"] = client.rollback_space("default").seconds
    time.sleep(5)
    client.drop_space("default")
    time.sleep(QUIET_SECONDS)
    return {
        "build_seconds": built,
        "concepts_followed_after_seconds": followed,
        "check_seconds": checked,
        "switch_seconds": seconds,
        "seconds_until_a_search_is_answered_by_what_was_rolled_back_to": answering,
    }


def _build(client: KgClient) -> None:
    client.build_space(NEW)
    while client.embedding_status(ONTOLOGY).embedded < client.embedding_status(ONTOLOGY).total:
        time.sleep(1)


def _wait_for_concepts(client: KgClient) -> None:
    """Extraction follows new text, so concepts may still come while the space is built."""
    ends = time.monotonic() + CONCEPT_SECONDS
    while time.monotonic() < ends and not client.check_space(NEW).ok:
        time.sleep(1)


def _require_right(client: KgClient) -> None:
    wrong = [each.detail for each in client.check_space(NEW).findings if not each.ok]
    if wrong:
        raise SystemExit(f"the check found something wrong: {'; '.join(wrong)}")


def until(reached: Callable[[], bool]) -> None:
    """Wait for something."""
    while not reached():
        time.sleep(0.01)


def timed(work: Callable[[], None]) -> float:
    """Seconds that something takes."""
    begun = time.monotonic()
    work()
    return round(time.monotonic() - begun, 2)


def told(load: Load, spaces: Sequence[str]) -> dict[str, Any]:
    """What was answered, by which of the spaces, and how long it took in each phase."""
    phases: dict[str, list[Answered]] = defaultdict(list)
    for each in load.answers:
        phases[each.phase].append(each)
    return {
        "requests": len(load.answers),
        "errors": [each.error for each in load.answers if each.error],
        "mixed_answers": sum(each.mixed for each in load.answers),
        "answers_by_space": {
            space: sum(each.spaces == (space,) for each in load.answers) for space in spaces
        },
        "degraded_answers": sum(each.degraded for each in load.answers),
        "latency_ms": {
            phase: {
                f"p{percent}": round(
                    1000 * float(np.percentile([each.seconds for each in found], percent)), 1
                )
                for percent in (50, 95, 99)
            }
            for phase, found in phases.items()
        },
    }


if __name__ == "__main__":
    main()
