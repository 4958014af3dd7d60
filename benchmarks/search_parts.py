"""CPU of the parts of a hybrid search, in Neo4j and in the caller: from the floor's statement to kg's search.

Ten threads repeat the same questions. The steps are measured in turn, several times: the table has medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, LiteralString, cast
from unittest.mock import patch

import neo4j

from benchmarks.peers.contestants.kg import LINKS_SECONDS
from benchmarks.peers.floor import FIND, query
from benchmarks.peers.texts import folder_passages, word_questions
from benchmarks.processes import Watched
from benchmarks.stack import Stack, machine, stack
from kg_api.container import Container, open_container
from kg_api.logs import configure_logs
from kg_api.schemas.search import SourceSearch
from kg_api.settings import load_settings

QUESTIONS, CLIENTS, LIMIT = 60, 10, 10
WARM, SEARCHES, ROUNDS = 2000, 1500, 3

Statement = tuple[LiteralString, dict[str, Any]]


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=4000)
    chosen = parser.parse_args()
    passages = folder_passages(chosen.folder, chosen.passages)
    questions = word_questions(passages, 2 * QUESTIONS)
    with stack() as running, tempfile.TemporaryDirectory() as folder:
        for passage in passages:
            (Path(folder) / f"{passage.id}.txt").write_text(passage.text, encoding="utf-8")
        running.kg("ingest", folder, "--ontology", "passages", "--wait", "--json")
        running.rest(LINKS_SECONDS)
        watched = Watched({"Neo4j": running.pids()["neo4j"], "caller": os.getpid()})
        place = {
            "KG_HOME": str(running.home.path),
            "KG_NEO4J__URI": running.home.build_bolt_uri() or "",
            "KG_NEO4J__PASSWORD": running.home.read_password() or "",
        }
        with patch.dict(os.environ, place):
            settings = load_settings()
        configure_logs(settings.log)
        with open_container(settings, needs_embedder=True) as container:
            print(
                json.dumps(
                    {"machine": machine(), "ms of CPU": _measure(running, watched, container, questions)},
                    indent=2,
                )
            )


def _measure(
    running: Stack, watched: Watched, container: Container, questions: Sequence[str]
) -> dict[str, dict[str, float]]:
    with running.driver() as driver, ThreadPoolExecutor(CLIENTS) as pool:
        steps = _steps(driver, container, questions)
        found: dict[str, list[dict[str, float]]] = {name: [] for name in steps}
        for jobs in steps.values():
            _repeat(pool, jobs, WARM)
        for _ in range(ROUNDS):
            for name, jobs in steps.items():
                before = watched.cpu_seconds()
                _repeat(pool, jobs, SEARCHES)
                after = watched.cpu_seconds()
                found[name].append({role: 1000 * (after[role] - before[role]) / SEARCHES for role in after})
    return {
        name: {role: round(statistics.median(each[role] for each in rounds), 2) for role in rounds[0]}
        for name, rounds in found.items()
    }


def _repeat(pool: ThreadPoolExecutor, jobs: Sequence[Callable[[], object]], times: int) -> None:
    list(pool.map(lambda at: jobs[at % len(jobs)](), range(times)))


def _steps(
    driver: neo4j.Driver, container: Container, questions: Sequence[str]
) -> dict[str, list[Callable[[], object]]]:
    """The floor, then what kg adds, one after the other. Only questions that need no further statement."""
    both = [(each, seen) for each in questions if len(seen := _statements(container, each)) == 2][:QUESTIONS]

    def ask(text: LiteralString, given: dict[str, Any]) -> object:
        with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            return session.run(text, given).values()

    def floor(limit: int, *, plain: bool) -> list[Callable[[], object]]:
        text = cast("LiteralString", FIND.replace("30", str(limit)))
        return [
            partial(
                ask,
                text,
                {"vector": given["vector_0"], "words": query(question) if plain else given["query_1"]},
            )
            for question, ((_, given), _) in both
        ]

    retrieval = [seen[0] for _, seen in both]
    return {
        "empty statement": [partial(ask, "RETURN 1 AS found", {})],
        "floor: 30 nearest, 30 by words": floor(30, plain=True),
        "50 of each": floor(50, plain=True),
        "headings, titles, stems, phrases": floor(50, plain=False),
        "ontologies, chunks, filters": [
            partial(ask, text, {**given, "compared_1": 0}) for text, given in retrieval
        ],
        "similarity of hits by words": [partial(ask, *each) for each in retrieval],
        "reading ten hits": [partial(ask, *seen[1]) for _, seen in both],
        "whole search in this process": [partial(_search, container, question) for question, _ in both],
    }


def _search(container: Container, question: str) -> object:
    return container.search.search(SourceSearch(query_text=question, limit=LIMIT))


def _statements(container: Container, question: str) -> list[Statement]:
    """The statements of a repeated search. Whatever is read once a second is known by then."""
    seen: list[Statement] = []
    run = neo4j.Session.run

    def spy(self: neo4j.Session, query: neo4j.Query, given: dict[str, Any]) -> neo4j.Result:
        seen.append((cast("LiteralString", query.text), given))
        return run(self, query, given)

    _search(container, question)
    with patch.object(neo4j.Session, "run", spy):
        _search(container, question)
    return seen


if __name__ == "__main__":
    main()
