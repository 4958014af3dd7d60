from __future__ import annotations

from kg_api.schemas.search import Degradation
from kg_api.search.notes import Notes


def note(effect: str) -> Degradation:
    return Degradation(part="query", effect=effect)


def test_notes_stand_in_the_order_of_the_steps_whichever_ended_first() -> None:
    notes = Notes()
    notes.record("context", [note("c")])
    notes.record("plan", [note("a"), note("b")])
    assert [each.effect for each in notes.all] == ["a", "b", "c"]


def test_a_step_that_is_done_again_says_anew_what_it_could_not_do() -> None:
    notes = Notes()
    notes.record("lanes", [note("2 are missing")])
    notes.record("rank", [note("not read")])
    notes.record("lanes", [note("5 are missing")])
    notes.record("rank", [])
    assert notes.all == [note("5 are missing")]


def test_two_steps_that_say_the_same_say_it_once() -> None:
    notes = Notes()
    notes.record("seeds", [note("a"), note("b")])
    notes.record("find_concepts", [note("b"), note("c")])
    assert notes.unique == [note("a"), note("b"), note("c")]
