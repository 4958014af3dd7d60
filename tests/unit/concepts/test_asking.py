"""What a search of concepts says of work that goes on."""

from __future__ import annotations

from kg_api.concepts.search import EMBEDDING, under_way
from kg_api.graph.jobs import Progress


def test_work_that_is_not_counted_yet_is_told_without_numbers() -> None:
    """A search asks for it and counts nothing: `0 of 0` would look like an end."""
    progress = {"new": Progress(0, 0), "old": Progress(2, 5), "other": Progress(1, 2)}
    told = under_way(progress, ["new", "old"], EMBEDDING)
    assert [each.effect for each in told] == [
        "new: concepts are still to be embedded; until then they are found by their words only",
        EMBEDDING.format(" (2 of the 5 that were due are done)").join(("old: ", "")),
    ]
