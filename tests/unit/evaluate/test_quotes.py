"""Sets made from documents can be read again, and ask what one place alone answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kg_api.errors import Conflict
from kg_api.evaluation.sets import LONGEST, SHORTEST, read_set, sample_quotes, write_set
from kg_api.schemas.evaluation import SetDocument

COMMON = "This sentence of usual words stands in each of the documents here. "
DOCUMENTS = [
    SetDocument(
        name, f"{COMMON}{own} The other one says the usual words of the documents again {name}. Short."
    )
    for name, own in [
        ("one", "Zirconium crystals\nglow violet under the quartz lamp of Mother Agnes. "),
        ("two", "Every heron of the estuary carries a copper ring from Lübeck or Riga. "),
        ("three", "A bassoon was pawned in Trieste for nineteen crowns and a spotted horse. "),
    ]
]


def sentences(document: SetDocument) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"[^.]+\.\s*", document.text)]


def test_the_distinctive_sentence_is_chosen_and_no_shared_one() -> None:
    found = sample_quotes(DOCUMENTS, map(sentences, DOCUMENTS), 3, 0)
    assert {query.text[:9] for query in found} == {"Zirconium", "Every her", "A bassoon"}
    for query in found:
        (span,) = query.references
        text = next(each.text for each in DOCUMENTS if each.document == span.document)
        assert " ".join(text[span.start : span.end].split()) == query.text
        assert dict(query.relevant) == {span.document: 1}
        assert SHORTEST <= len(query.text) <= LONGEST


def test_the_same_seed_asks_the_same() -> None:
    found = [
        [each.text for each in sample_quotes(DOCUMENTS, map(sentences, DOCUMENTS), 2, seed)]
        for seed in (1, 1)
    ]
    assert found[0] == found[1]
    orders = {
        tuple(each.text for each in sample_quotes(DOCUMENTS, map(sentences, DOCUMENTS), 3, n))
        for n in range(9)
    }
    assert len(orders) > 1


def test_nothing_to_ask() -> None:
    assert sample_quotes([SetDocument("a", "Short.")], [[(0, 6)]], 5, 0) == []
    assert sample_quotes([], [], 5, 0) == []


def test_code_is_no_question() -> None:
    code = "x = {1: [2, 3], 4: (5, 6)}; y = x[1][0] + 12345 / 678 - 9 * (10 ** 2)"
    assert sample_quotes([SetDocument("a", code)], [[(0, len(code))]], 5, 0) == []


def test_a_set_that_is_written_is_read_again(tmp_path: Path) -> None:
    queries = sample_quotes(DOCUMENTS, map(sentences, DOCUMENTS), 3, 0)
    folder = tmp_path / "made"
    write_set(folder, DOCUMENTS, queries, {"seed": 0})
    found = read_set(folder)
    assert found.documents == tuple(DOCUMENTS)
    assert found.queries == tuple(queries)
    assert found.targets == ("documents", "spans")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(Conflict, match="is not empty"):
        write_set(tmp_path, DOCUMENTS, [], {})
