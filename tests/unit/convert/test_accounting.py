from __future__ import annotations

import pytest

from kg_api.convert.shared.accounting import find_missing, note_missing


@pytest.mark.parametrize(
    ("pieces", "text", "missing"),
    [
        (["Load limit", "40 tons"], "# Load limit\n\n40 tons\n", None),
        (["Ordinary box", "The load limit is 40 tons"], "Ordinary box\n", (6, "The load limit is 40 tons")),
        (["4711", "4711"], "4711", (1, "4711")),
        (["10", "6", "Kla", "mmer"], "10^6 Klammer", None),
        (["Klammer"], "Klam mer", None),
        (["ﬁle ２０２４"], "file 2024", None),
        (["三つのク\nレーン"], "三つのクレーン", None),
    ],
    ids=["complete", "box", "once of twice", "joined", "torn", "compatible forms", "lines of CJK"],
)
def test_missing_words_are_counted_with_an_example(
    pieces: list[str], text: str, missing: tuple[int, str] | None
) -> None:
    found = find_missing(pieces, text)
    assert (found and (found.words, found.example)) == missing


def test_note_names_the_place() -> None:
    assert note_missing(["Order 4711"], "nothing", "fields") == (
        'skipped: 2 words of fields, e.g. "Order 4711"',
    )
    assert note_missing(["nothing"], "nothing", "fields") == ()
