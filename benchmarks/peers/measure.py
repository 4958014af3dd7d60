"""One contestant, measured in a process of its own, which is given the folder of its job."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.asking import Ask, ask
from benchmarks.peers.contestants import STORED_BY_KG, Contestant, Search, open_contestant
from benchmarks.peers.embedder import BARE_SAMPLE, SameEmbedder, by_length
from benchmarks.peers.job import JOB, REPORT, Corpus, Job, Measured, Pace, Phase, Question, Report
from benchmarks.processes import Watched

LIMIT = 10
DEEP = 30
"""Passages that a judged question asks for: ten documents may have more than ten passages."""
ALONE = 200
AGAIN = 300
"""Different questions that come again; as many are asked in the other ways first, to warm up."""
WARM = 6000
"""Searches before anything is measured: for as long the JVM compiles what it runs."""


def main() -> None:
    """Do the job of a folder, and leave the report there."""
    folder = Path(sys.argv[1])
    job = JOB.validate_json((folder / "job.json").read_bytes())
    embedder = SameEmbedder(job.place.model, job.place.spec)
    contestant = open_contestant(job.contestant, job.place, embedder)
    own: dict[str, int] = getattr(contestant, "processes", {})
    watched = Watched({**job.processes, **own, "client": os.getpid()})
    measuring = Measuring(contestant, embedder, watched, job, np.load(folder / "vectors.npy", mmap_mode="r"))
    found = {corpus.name: measuring.corpus(corpus) for corpus in job.corpora}
    report = Report({name: version(name) for name in contestant.packages}, found)
    (folder / "result.json").write_bytes(REPORT.dump_json(report))


class Measuring:
    """What is measured of any contestant."""

    def __init__(
        self,
        contestant: Contestant,
        embedder: SameEmbedder,
        watched: Watched,
        job: Job,
        vectors: np.ndarray[Any, Any],
    ) -> None:
        self._contestant = contestant
        self._embedder = embedder
        self._watched = watched
        self._job = job
        self._vectors = vectors

    def corpus(self, corpus: Corpus) -> Measured:
        """Take a corpus in, search it for speed, and for quality."""
        found = self._take_in(corpus)
        if corpus.words:
            found.search = self._speed(corpus, self._job.pace)
        for name, search in self._contestant.rankings.items() if corpus.questions else ():
            found.answers[name], failed = answers(search, corpus.questions)
            found.failed |= {f"{name}: {kind}": count for kind, count in failed.items()}
        found.memory_mb = self._watched.memory_mb()
        if (
            self._job.contestant in STORED_BY_KG
        ):  # what asks kg needs no model; here it has one for the bare speed
            del found.memory_mb["client"]
        return found

    def _take_in(self, corpus: Corpus) -> Measured:
        texts = [each.text for each in corpus.passages]
        self._contestant.prepare(corpus)
        bare = [self._bare(texts)]
        begun = time.perf_counter()
        self._contestant.take_in(corpus.passages)
        seconds = time.perf_counter() - begun
        self._contestant.settle()
        settled = time.perf_counter() - begun - seconds
        bare.append(self._bare(texts))
        return Measured(
            passages=len(texts),
            taking_in_seconds=round(seconds, 2),
            bare_a_second=[round(each, 1) for each in bare],
            share_of_bare=round(len(texts) / seconds / (sum(bare) / len(bare)), 3),
            settled_seconds=round(settled, 1),
            cut=sum(map(self._embedder.is_cut, texts)),
        )

    def _bare(self, texts: list[str]) -> float:
        sample = by_length(texts, BARE_SAMPLE)
        return len(sample) / self._embedder.bare_seconds(sample)

    def _speed(self, corpus: Corpus, pace: Pace) -> dict[str, Phase]:
        """Each way to ask, alone and together; before it all has been asked for a while, to warm up."""
        ways = self._ways(corpus.words)
        for name, asks in ways.items():
            ask(islice(asks, WARM if name == "again" else AGAIN), pace.clients, math.inf, self._watched)
        found: dict[str, Phase] = {}
        for name, asks in ways.items():
            found[f"{name}, 1 client"] = ask(islice(asks, ALONE), 1, math.inf, self._watched)
            found[f"{name}, {pace.clients} clients"] = ask(asks, pace.clients, pace.seconds, self._watched)
        return found

    def _ways(self, words: list[str]) -> dict[str, Iterator[Ask]]:
        """Questions that are new, come again, or bring their vectors; the end of new ones ends a phase."""
        search, by_vector = self._contestant.search, self._contestant.search_vector
        again, new = words[:AGAIN], words[AGAIN : len(words) - len(self._vectors)]
        given = zip(words[len(words) - len(self._vectors) :], self._vectors, strict=True)
        return {
            "new": (partial(search, each, LIMIT) for each in new),
            "again": cycle([partial(search, each, LIMIT) for each in again]),
            "vector given": (partial(by_vector, each, vector.tolist(), LIMIT) for each, vector in given),
        }


def answers(search: Search, questions: list[Question]) -> tuple[dict[str, list[str]], Counter[str]]:
    """What is found for judged questions; an error is told, and finds nothing."""
    found, failed = dict[str, list[str]](), Counter[str]()
    for question in questions:
        try:
            found[question.id] = search(question.text, DEEP)
        except Exception as error:  # noqa: BLE001 - each library has its own
            failed[type(error).__name__] += 1
            found[question.id] = []
    return found, failed


if __name__ == "__main__":
    main()
