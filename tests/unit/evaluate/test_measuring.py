"""Judged questions, asked in the process itself."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kg_api.errors import Conflict, Forbidden, InvalidInput, NotFound, RateExceeded, Unavailable
from kg_api.evaluation import measuring
from kg_api.evaluation.measuring import MeasuredOntology, Measuring
from kg_api.evaluation.saved import SavedResults
from kg_api.evaluation.sets import JudgedSet
from kg_api.graph.reach import reaching
from kg_api.schemas.evaluation import JudgedPassage, SetQuery
from kg_api.schemas.search import SourceHits, SourceSearch

JUDGED = JudgedSet(
    [
        SetQuery("q1", "What dances?", {"a.md": 2}, (), (JudgedPassage("a.md", 0, 5, 2),)),
        SetQuery("q2", "Who?", {"b.md": 1}, (), (JudgedPassage("b.md", 0, 5, 1),)),
    ],
    ["told"],
)


def bees() -> MeasuredOntology:
    return MeasuredOntology({"ontology": "bees"}, JUDGED)


def nothing(request: SourceSearch) -> SourceHits:
    """An answer without a hit."""
    return SourceHits(
        query_text=request.query_text, mode=request.mode, space=None, sources=[], degraded=[], timings_ms={}
    )


def test_each_mode_is_a_result_of_its_own(tmp_path: Path) -> None:
    asked = list[SourceSearch]()
    made = Measuring(tmp_path).measure(
        "bees", ["text", "vector"], bees, lambda each: asked.append(each) or nothing(each)
    )
    assert (made.ontology, len(made.names)) == ("bees", 2)
    results = SavedResults(tmp_path)
    found = [results.find(name) for name in made.names]
    assert [each.label for each in found] == ["text", "vector"]
    assert found[0].metrics["ndcg@10"] == 0
    assert found[0].questions == {"q1": "What dances?", "q2": "Who?"}
    assert (found[0].data.name, found[0].data.notes) == ("judged in bees", ["told"])
    assert {(each.mode, each.limit, each.per_document) for each in asked} == {
        ("text", 20, None),
        ("vector", 20, None),
    }
    assert results.compare(made.names, None, "first").baseline == "text"


def test_of_many_questions_the_same_are_asked_and_that_is_said() -> None:
    many = [SetQuery(f"{n:04}", "?", {"a": 1}) for n in range(measuring.MAX_QUESTIONS + 1)]
    chosen = measuring.limit_questions(JudgedSet(many[::-1], ["told"]))
    assert chosen.queries == many[:-1]
    told, note = chosen.notes
    assert told == "told"
    assert note.startswith("200 of 201 questions asked; to ask all: `kg eval make --kind judgements`, then")
    assert note.endswith("`kg eval run --in-place`, whose results are compared among themselves")
    few = JudgedSet(many[:5], [])
    assert measuring.limit_questions(few) is few


def test_one_measures_at_a_time(tmp_path: Path) -> None:
    service, begun, go_on = Measuring(tmp_path), threading.Event(), threading.Event()

    def slow(request: SourceSearch) -> SourceHits:
        begun.set()
        assert go_on.wait(20)
        return nothing(request)

    first = threading.Thread(target=service.measure, args=("bees", ["text"], bees, slow))
    first.start()
    assert begun.wait(20)
    with pytest.raises(Conflict, match="somebody measures at this moment"):
        service.measure("bees", ["text"], lambda: pytest.fail("it was read"), nothing)
    go_on.set()
    first.join()
    assert service.measure("bees", ["text"], bees, nothing).names


def test_what_takes_too_long_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, asked = Measuring(tmp_path), list[str | None]()

    def search(request: SourceSearch) -> SourceHits:
        asked.append(request.query_text)
        if len(asked) == 2:
            monkeypatch.setattr(measuring.time, "monotonic", lambda: float("inf"))
        return nothing(request)

    with pytest.raises(Conflict, match="measure again to go on"):
        service.measure("bees", ["text"], bees, search)
    monkeypatch.undo()
    assert list(tmp_path.glob("*.json")) == []
    service.measure("bees", ["text"], bees, search)
    assert asked == ["What dances?", "What dances?", "Who?", "Who?"], "the first request is not measured"


def test_a_mode_that_was_finished_is_not_asked_again_after_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, asked = Measuring(tmp_path), list[str]()

    def search(request: SourceSearch) -> SourceHits:
        asked.append(request.mode)
        if len(asked) == 4:
            monkeypatch.setattr(measuring, "MAX_SECONDS", -1)
            raise Conflict("it took longer")
        return nothing(request)

    with pytest.raises(Conflict, match="it took longer"):
        service.measure("bees", ["text", "vector"], bees, search)
    monkeypatch.undo()
    made = service.measure("bees", ["text", "vector"], bees, search)
    assert (asked.count("text"), len(made.names), len(list(tmp_path.glob("*.json")))) == (3, 2, 2)
    again = service.measure("bees", ["text"], bees, search)
    assert (asked.count("text"), *again.names) != (3, made.names[0]), "all was done: it is measured anew"


def test_a_question_is_asked_again_while_it_is_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "PAUSE_SECONDS", 0)
    failing = [Unavailable("away"), NotFound("deleted"), RateExceeded("fast"), None, Unavailable("away")]

    def search(request: SourceSearch) -> SourceHits:
        if failing and (error := failing.pop(0)):
            raise error
        return nothing(request)

    assert len(Measuring(tmp_path).measure("bees", ["text"], bees, search).names) == 1
    monkeypatch.setattr(measuring, "PATIENCE_SECONDS", 0)
    failing[:] = [Unavailable("for long")]
    with pytest.raises(Unavailable, match="for long"):
        Measuring(tmp_path).measure("bees", ["text"], bees, search)


@pytest.mark.parametrize(("hours", "again"), [(0.5, 2), (2, 3)])
def test_answers_of_a_try_before_count_for_an_hour(tmp_path: Path, hours: float, again: int) -> None:
    asked = list[str | None]()

    def search(request: SourceSearch) -> SourceHits:
        asked.append(request.query_text)
        if len(asked) == 3:
            raise Conflict("it took longer")
        return nothing(request)

    with pytest.raises(Conflict):
        Measuring(tmp_path).measure("bees", ["text"], bees, search)
    (kept,) = tmp_path.glob("*.partial.jsonl")
    before = time.time() - hours * 3600
    os.utime(kept, (before, before))
    Measuring(tmp_path).measure("bees", ["text"], bees, search)
    assert len(asked) == 3 + again


def test_what_cannot_be_measured_is_said_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, modes = Measuring(tmp_path), list[Any](["text"])

    def unread() -> MeasuredOntology:
        pytest.fail("it was read")

    with pytest.raises(InvalidInput, match="choose a mode"):
        service.measure("bees", [], unread, nothing)
    with reaching(["owls"]), pytest.raises(Forbidden):
        service.measure("bees", modes, unread, nothing)
    with pytest.raises(InvalidInput, match="no passage of 'bees' is judged"):
        service.measure("bees", modes, lambda: MeasuredOntology({}, JudgedSet([], [])), nothing)
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(Conflict, match=r"are not installed; .*\.\[eval\]"):
        service.measure("bees", modes, unread, nothing)
