from __future__ import annotations

import os
from functools import partial

from benchmarks.peers.asking import ask
from benchmarks.peers.embedder import by_length
from benchmarks.peers.job import Measured, Passage, Phase, Report
from benchmarks.peers.report import aims
from benchmarks.peers.texts import word_questions
from benchmarks.processes import Watched


def test_no_word_question_comes_twice() -> None:
    passage = Passage("p0", " ".join(f"Word{number}." for number in range(60)))
    found = word_questions([passage], 40)
    assert len(found) == len(set(found)) == 40
    assert all(len(each.split()) == 10 and each == each.lower() and "." not in each for each in found)


def test_a_sample_has_the_lengths_of_the_whole() -> None:
    texts = ["x" * length for length in range(1000)]
    sample = by_length(texts, 100)
    assert len(sample) == 100
    assert abs(sum(map(len, sample)) / 100 - 499.5) < 6
    assert by_length(["a", "bb"], 600) == ["a", "bb"]


def test_each_question_is_asked_once_and_errors_are_counted() -> None:
    asked = list[int]()

    def search(number: int) -> None:
        asked.append(number)
        if number % 10 == 0:
            raise ValueError(number)

    watched = Watched({"client": os.getpid()})
    found = ask(iter([partial(search, number) for number in range(50)]), 4, 60, watched)
    assert sorted(asked) == list(range(50))
    assert (found.searches, found.clients, found.errors) == (50, 4, {"ValueError": 5})
    assert found.cpu_ms.keys() == {"client"}


def test_aims_are_against_the_fastest_of_the_others() -> None:
    reports = {"kg": told(0.96, 12.0, 240), "a": told(0.6, 11.5, 150), "b": told(0.7, 20.0, 190)}
    reports["floor"] = told(0.96, 4.0, 460)  # it is a limit, not a peer
    found = aims(reports, {}, 10)
    assert found["taking in, share of the bare embedder"]["met"]
    assert found["new, 1 client, p50 ms"] == {"kg": 12.0, "aim": 12.5, "met": True}
    assert found["new, 10 clients, a second"] == {"kg": 240, "aim": 209.0, "met": True}
    assert found["again, 10 clients, a second"] == {"kg": 240, "aim": 380.0, "met": False}
    assert found["vector given, 10 clients, a second"] == {"kg": 240, "aim": 114.0, "met": True}


def told(share: float, p50: float, rate: float) -> Report:
    phase = Phase(10, 100, 1.0, rate, p50, 2 * p50, {}, {})
    ways = [f"{way}, {who}" for way in ("new", "again", "vector given") for who in ("1 client", "10 clients")]
    return Report({}, {"texts": Measured(10, 1.0, [10.0], share, 0.0, 0, search=dict.fromkeys(ways, phase))})
