"""Where a scan stands, and how its results add up."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.ingest.folder_listing import Phase, Result, ScanPosition, add_up
from kg_api.schemas.folders import MAX_REFUSALS_KEPT, NewFolder, RefusedFile, ScanTally, folder_id, overlap

RESULTS = get_args(Result)


@given(st.lists(st.lists(st.sampled_from(RESULTS))))
def test_every_result_is_counted_once(batches: list[list[Result]]) -> None:
    tally = ScanTally()
    for batch in batches:
        tally = add_up(tally, batch)
    flat = [each for batch in batches for each in batch]
    assert {name: getattr(tally, name) for name in RESULTS} == {name: flat.count(name) for name in RESULTS}


def test_adding_up_twice_is_the_same_as_once() -> None:
    tally = ScanTally(added=1)
    assert add_up(tally, ["added"]) == add_up(tally, ["added"]) == ScanTally(added=2)
    assert tally == ScanTally(added=1)


def test_all_refusals_are_counted_and_so_many_are_kept() -> None:
    many = [RefusedFile(document=str(number), reason="why") for number in range(MAX_REFUSALS_KEPT + 5)]
    results: list[Result] = ["refused" for _ in many]
    tally = add_up(ScanTally(), results, many)
    assert (tally.refused, len(tally.refusals)) == (len(many), MAX_REFUSALS_KEPT)
    assert tally.refusals[0].document == "0"


@given(st.sampled_from(get_args(Phase)), st.text())
def test_a_place_comes_back_from_its_cursor(phase: Phase, name: str) -> None:
    assert ScanPosition.of(ScanPosition(phase, name).cursor()) == ScanPosition(phase, name)


@given(st.lists(st.text(), unique=True), st.data())
def test_what_is_left_of_a_scan_is_what_comes_after_its_place(names: list[str], data: st.DataObject) -> None:
    names.sort()
    done = data.draw(st.integers(0, len(names)))
    place = ScanPosition("file", names[done - 1]) if done else ScanPosition.of("")
    assert [name for name in names if not place.is_done(name)] == [name for name in names[done:] if name]
    assert all(ScanPosition("gone", "").is_done(name) for name in names)


@given(
    st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4),
    st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4),
)
def test_folders_overlap_when_one_is_in_the_other(one: list[str], two: list[str]) -> None:
    shorter, longer = sorted((one, two), key=len)
    assert overlap("/" + "/".join(one), "/" + "/".join(two)) == (longer[: len(shorter)] == shorter)


@pytest.mark.parametrize("path", ["notes", "./notes", "", "~/notes", "/a/../b", "/a/..", "..", "/a\x00b"])
def test_a_path_that_depends_on_where_one_stands_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        NewFolder(path=path, ontology="notes")


@pytest.mark.parametrize(
    ("path", "shortest"),
    [("/a/b/", "/a/b"), ("//a//./b", "/a/b"), ("/", "/"), ("///", "/"), ("/a..b", "/a..b")],
)
def test_a_path_is_kept_in_its_shortest_form(path: str, shortest: str) -> None:
    assert NewFolder(path=path, ontology="notes").path == shortest


@pytest.mark.parametrize("seconds", [0, 9, -5, 1.5, "300", 31 * 86_400 + 1, True])
def test_a_time_between_scans_that_cannot_be_is_refused(seconds: int) -> None:
    with pytest.raises(ValueError, match="every_seconds"):
        NewFolder(path="/a", ontology="notes", every_seconds=seconds)


def test_a_folder_is_another_one_in_another_ontology() -> None:
    assert len({folder_id(path, name) for path in ("/a", "/b") for name in ("one", "two")}) == 4
