"""What many documents repeat is told from what a few have in common, and from copies."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kg_api.search.near import MIN_DOCUMENTS, fields_of, repeated_groups, repeats
from kg_api.search.rank import near_duplicates

LICENCE = "Copyright\n\nThis document has been placed in the public domain."
HEADER = "PEP: {n}\nTitle: About {word}\nAuthor: Ada Lovelace,\n        Alan Turing\nStatus: Final\n"
WORDS = ["herons", "leases", "rings", "horses", "quartz", "bassoons"]


def own(word: str) -> str:
    return f"Nobody has said more of {word} than this one text, which speaks of {word} and of nothing else."


def documents(count: int, *more: str) -> tuple[list[str], list[str]]:
    """Texts and documents: each with its own text twice over, and more that all have."""
    texts = [(each, n) for n in range(count) for each in (own(WORDS[n]), own(WORDS[n] + " again"), *more)]
    return [text for text, _ in texts], [f"d{n}" for _, n in texts]


def found(
    texts: Sequence[str], names: Sequence[str], named: Collection[int] = (), *, whole: bool = True
) -> list[list[int]]:
    return repeated_groups(texts, names, near_duplicates(texts), named, whole=whole)


def test_a_licence_of_many_documents_is_repeated() -> None:
    texts, names = documents(MIN_DOCUMENTS, LICENCE)
    assert found(texts, names) == [[2, 5, 8, 11]]


def test_what_fewer_share_is_not() -> None:
    texts, names = documents(MIN_DOCUMENTS - 1, LICENCE)
    assert found(texts, names) == []


def test_many_times_in_one_document_is_not_in_many() -> None:
    assert found([LICENCE] * 9, ["a"] * 9) == []


def test_copies_of_a_whole_document_are_kept() -> None:
    texts = [own("herons"), own("leases")] * 5
    names = [f"d{n}" for n in range(5) for _ in range(2)]
    assert found(texts, names) == []
    assert len(found(texts, names, whole=False)) == 2


def test_what_was_asked_for_is_kept() -> None:
    texts, names = documents(MIN_DOCUMENTS, LICENCE)
    assert found(texts, names, [2]) == []


def test_fields_are_one_kind_of_text_whatever_they_say() -> None:
    texts, names = documents(MIN_DOCUMENTS)
    heads = [HEADER.format(n=n, word=WORDS[n]) for n in range(MIN_DOCUMENTS)]
    groups = found([*texts, *heads], [*names, *(f"d{n}" for n in range(MIN_DOCUMENTS))])
    assert groups == [[8, 9, 10, 11]]


def test_fields_are_told_from_prose() -> None:
    assert fields_of(HEADER.format(n=1, word="x")) == {"pep", "title", "author", "status"}
    assert fields_of("Note: this is so.\nIt goes on here.\nAnd here: too.\nWell: yes.") == frozenset()
    assert fields_of("Title: alone\nAuthor: two") == frozenset()


def test_what_people_say_in_turn_is_no_fields() -> None:
    """A transcript of the same three people is another text each time."""
    said = "Anna: How far are we?\nBen: The lease of {word} is signed.\nCleo: The rest is not."
    assert fields_of(said.format(word="x")) == frozenset()
    assert fields_of("Anna: yes\nBen: no\nAnna: why\nBen: so\nCleo: well\nAnna: fine") == frozenset()
    texts, names = documents(MIN_DOCUMENTS)
    talks = [said.format(word=WORDS[n]) for n in range(MIN_DOCUMENTS)]
    assert found([*texts, *talks], [*names, *(f"d{n}" for n in range(MIN_DOCUMENTS))]) == []


def test_fields_of_another_kind_are_another_text() -> None:
    heads = [f"Title: {word}\n{word}: one\n{word[1:]}: two\n{word[2:]}: three" for word in WORDS]
    assert found(heads, [f"d{n}" for n in range(len(heads))], whole=False) == []


def test_the_documents_that_repeat_a_text_are_counted() -> None:
    others = {"b": [LICENCE.upper()], "c": [own("rings"), LICENCE], "d": [own("rings")]}
    assert repeats(LICENCE, others) == 3
    head = HEADER.format(n=1, word="x")
    assert repeats(head, {"b": [HEADER.format(n=2, word="y")], "c": [LICENCE]}) == 2
