from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.extraction import keyphrases
from kg_api.extraction.keyphrases import MAX_LABEL_LENGTH, MAX_QUOTE_LENGTH, QUOTES, KeyphraseExtractor
from kg_api.extraction.language import detect_language
from kg_api.extraction.phrases import Mention
from kg_api.graph.vectors import SourceText
from kg_api.schemas.concepts import Extraction
from tests.support.growth import assert_linear
from tests.support.keyphrases import ABOUT, extract, labels, sources


def check(document: Sequence[SourceText], found: Sequence[Extraction], per_source: int) -> None:
    assert [each.source_id for each in found] == [each.source_id for each in document]
    for source, each in zip(document, found, strict=True):
        assert (each.content_hash, each.refused) == (source.content_hash, None)
        assert len(each.concepts) <= per_source
        folded = [concept.label.casefold() for concept in each.concepts]
        assert len(set(folded)) == len(folded)
        for concept in each.concepts:
            assert 0 < len(concept.label) <= MAX_LABEL_LENGTH
            assert concept.label == " ".join(concept.label.split())
            assert 0 <= concept.confidence <= 1
            assert 0 < len(concept.quotes) <= QUOTES
            for quote in concept.quotes:
                assert source.full_text[quote.start : quote.end] == quote.text
                assert 0 < len(quote.text) <= MAX_QUOTE_LENGTH
                assert quote.text == quote.text.strip()


PIECES = st.sampled_from(
    [
        *(
            "The lease of a worker ends after ten seconds.",
            "Paris",
            "`code`",
            "```\n",
            "\n\n",
            "\n",
            " ",
            "- ",
        ),
        *("University of Copenhagen", "New York City", "PEP 8", "https://x.y/z_a?b=c", "des Königs Ansehen"),
        *(
            "дом Пушкина", "超级碗赛", "スーパーボウル", "المدينة", "e\u0301t\u00e9", "\U0001f600", "\x01",
            "\u200b",
        ),
        *("-", "of the", "import x = {1: 2}", "| a | b |", "Status: Final", "[1]_", "x" * 70, "1963", "# "),
        *("ist", "’s", "'", "July 2001"),
    ]
)  # fmt: skip
TEXT = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map(" ".join))


@given(st.lists(TEXT.filter(str.strip), min_size=1, max_size=4), st.integers(1, 8))
def test_quotes_are_spans_and_labels_are_bounded(texts: list[str], per_source: int) -> None:
    document = sources(*texts)
    check(document, extract(document, per_source), per_source)


def test_long_document_is_read_in_parts() -> None:
    text = "The scheduler of Neptune Station renews every worker lease. " * 200
    document = sources(*[f"{text}\n\nChapter {n} names Captain Nemo{n}.\n" for n in range(20)])
    whole = extract(document)
    assert sum(len(each.full_text) for each in document) > 200_000
    assert all(each.concepts for each in whole)
    assert KeyphraseExtractor(6).extract(document[17:], document, ABOUT) == whole[17:]


@pytest.mark.parametrize(
    "text",
    [
        "Abstract\n========\n\nMotivation\n\nCopyright\n\nRejected Ideas\n",
        "Created: 05-Jul-2001\nStatus: Final\nType: Standards Track\n",
        "In July 2001 and on 3 March 1963 it was 12.5.",
        "```python\nWorkerLease = open_lease(TheWorker)\n```\n",
        "See https://example.org/Big_Lease/Worker and write to Some.One@example.org now.",
        "    WorkerLease = renew(TheWorker, every=10)\n    return WorkerLease.close()\n",
        "def renew_lease(worker_lease):\n    return worker_lease\n",
        "Use worker_lease and `a.b.c` and `lease-keeper --all` of :class:`Lease`, v14.5.0.",
        "<div class='LeaseBox'><WorkerLease id=3></div>",
    ],
)
def test_boilerplate_code_markup_and_dates_are_none(text: str) -> None:
    assert labels(text * 4) == []


def test_names_and_noun_phrases_keep_their_spelling() -> None:
    text = (
        "The Journal of Mathematical Physics is published by the American Institute of Physics. Its editor "
        "is Jan Philip Solovej from the University of Copenhagen, who lives in New York City with Mr. Olsen."
    )
    assert set(labels(text)) >= {
        "Journal of Mathematical Physics", "American Institute of Physics", "Jan Philip Solovej",
        "University of Copenhagen", "New York City",
    }  # fmt: skip


def test_inflections_are_one_concept_of_the_document() -> None:
    first = "A weak reference may be of use to us. All weak references go with the thing that they are for."
    document = sources(first, "Weak references are of use, and they do not cost much.")
    found = extract(document)
    assert [[each.label for each in one.concepts] for one in found] == [["weak reference"]] * 2
    assert found[0].concepts[0].forms == ("weak references",)
    assert [quote.text for quote in found[0].concepts[0].quotes] == [
        "A weak reference may be of use to us.",
        "All weak references go with the thing that they are for.",
    ]


UNITS = [
    *("a'", "a-", "A. ", "x", "word ", "Name ", "of the ", "超级碗", "超", '"(', "`", "``a"),
    *("- ", "_", "[", "<a", "a.b", "\n", "\x01", "e\u0301", "ab/"),
]
NUMBERED: dict[str, Callable[[int], str]] = {
    "Word0 Word1": lambda n: f"Word{n} ",
    "wortaa wortba": lambda n: f"wort{chr(97 + n % 26)}{chr(97 + n // 26 % 26)} ",
}


def hostile(name: str, size: int) -> str:
    if name in NUMBERED:
        return "".join(map(NUMBERED[name], range(size // 7)))
    return name * (size // len(name)) + "x"


def seconds(text: str) -> float:
    started = time.process_time()
    document = sources(text)
    check(document, extract(document), 6)
    return time.process_time() - started


@pytest.fixture(scope="module")
def _loaded() -> None:
    labels("A first text in English is read here.")


@pytest.mark.usefixtures("_loaded")
@pytest.mark.parametrize("name", [*UNITS, *NUMBERED])
def test_time_grows_with_the_text(name: str) -> None:
    assert_linear(lambda size: seconds(hostile(name, size)), 2_500, slack=0.025)


@pytest.mark.full
@pytest.mark.usefixtures("_loaded")
@pytest.mark.parametrize("name", [*UNITS, *NUMBERED])
def test_hostile_texts_end_in_time(name: str) -> None:
    assert seconds(hostile(name, 200_000)) < 20


GERMAN = (
    "Die Grammy-Gewinnerin Lady Gaga führte die Nationalhymne auf, und sie übersetzte in die "
    "Amerikanische Gebärdensprache, die nicht jeder von uns kann."
)
SPANISH = (
    "El mariscal de campo Peyton Manning se convirtió en el primero de la historia, y el récord estaba en "
    "las manos de John Elway."
)
RUSSIAN = (
    "Фридрих Вильгельм принял их в своих владениях. Их род вели многие, и в их числе был поэт Теодор "
    "Фонтен, а не только они."
)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", GERMAN, {"Nationalhymne", "Amerikanische Gebärdensprache"}),
        ("es", SPANISH, {"Peyton Manning", "John Elway"}),
        ("ru", RUSSIAN, {"Фридрих Вильгельм", "Теодор Фонтен"}),
    ],
)
def test_names_of_other_languages(language: str, text: str, expected: set[str]) -> None:
    assert detect_language(text.split()) == language
    assert expected <= set(labels(text))


def test_mentions_are_read_once_for_any_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(tuple[Mention, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[Mention]:
            read.append(len(self))
            return super().__iter__()

    read: list[int] = []
    real = keyphrases.rank_phrases

    def rank(*args: Any) -> list[Any]:
        return [replace(each, mentions=Counted(each.mentions)) for each in real(*args)]

    monkeypatch.setattr(keyphrases, "rank_phrases", rank)
    texts = [f"Grace Hopper met Alan Turing{'' if at % 2 else ' in Silver Springs'}." for at in range(50)]
    document = [SourceText(f"s{at}", "d", at, (), 0, text, "h") for at, text in enumerate(texts)]
    found = keyphrases.find(document, 6)
    assert {concept.label for concept in found["s0"]} >= {"Grace Hopper", "Silver Springs"}
    assert "Silver Springs" not in {concept.label for concept in found["s1"]}
    assert len(read) <= 5
