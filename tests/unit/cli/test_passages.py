"""Passages as a person reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kg_api.models.concepts.queries import ConceptHit
from kg_api.models.queries.hybrid import HybridHits
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation, LeftOut, MatchedChunk, Ranks, SourceHit, SourceHits
from kg_api.models.queries.windows import SourceWindow
from kg_cli.search.views.passages import (
    SHOWN_CHARACTERS,
    compile_highlight,
    excerpt,
    print_context,
    print_hits,
    print_hybrid,
)
from kg_cli.terminal import console

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def marked(query: str, text: str) -> list[str]:
    words = compile_highlight(query)
    return words.findall(text) if words else []


def test_words_of_the_query_are_marked_in_any_case() -> None:
    assert marked("Lease", "a lease, LEASES and leasing; release not") == ["lease", "LEASES"]


def test_a_plural_marks_the_singular_too() -> None:
    assert marked("heartbeats", "Heartbeat and heartbeats") == ["Heartbeat", "heartbeats"]
    assert marked("gas", "gas ga") == ["gas"], "short words are left as they are"


def test_the_id_of_a_concept_can_be_copied_at_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    label, identity = "a concept with a label that is rather long for a table " * 2, "0123456789abcdef" * 2
    own = {"concept_id": identity, "ontology": "o", "label": label, "description": "", "search_terms": []}
    concept = ConceptHit.model_validate({**own, "sources": 3, "similarity": 0.5, "score": 0.5})
    print_hybrid(
        HybridHits(
            query_text="a",
            mode="hybrid",
            concepts=[concept],
            sources=[],
            degraded=[],
            timings_ms={"total": 1.0},
        ),
        full=False,
    )
    assert identity in capsys.readouterr().out


def test_a_short_word_marks_itself_only() -> None:
    assert marked("who is on call", "Only Ada is on call; calls go on, isolated") == [
        "is",
        "on",
        "call",
        "calls",
        "on",
    ]
    assert marked("東京", "東京都") == ["東京都"], "without blanks between words"


@pytest.mark.parametrize("query", ["", " ", "?!", "a", "-"])
def test_a_query_without_words_marks_nothing(query: str) -> None:
    assert compile_highlight(query) is None


@pytest.mark.parametrize("query", ["C++ (a|b)*", "[unclosed", "a.b", "\\", "^start$ end.*"])
def test_a_query_is_no_pattern(query: str) -> None:
    assert marked(query, "nothing of this") == []


@given(WORDS, WORDS)
def test_any_query_marks_only_what_is_in_the_text(query: str, text: str) -> None:
    assert all(each in text for each in marked(query, text))


def test_a_short_passage_is_shown_whole() -> None:
    assert excerpt("  a short one\n", compile_highlight("short")) == "a short one"


def test_a_long_passage_is_shown_around_its_first_match() -> None:
    text = "before " * 200 + "needle " + "after " * 200
    shown = excerpt(text, compile_highlight("needle"))
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "needle" in shown[: len(shown) // 2]
    assert len(shown) == SHOWN_CHARACTERS + 2


@pytest.mark.parametrize("query", ["needle", ""])
def test_a_passage_without_a_match_is_shown_from_its_beginning(query: str) -> None:
    shown = excerpt("first " + "more " * 300, compile_highlight(query))
    assert (shown[:5], shown[-1]) == ("first", "…")


def test_a_match_at_the_end_shows_the_end() -> None:
    shown = excerpt("before " * 200 + "needle", compile_highlight("needle"))
    assert (shown[0], shown[-6:]) == ("…", "needle")


@given(st.text(max_size=2000), WORDS)
def test_an_excerpt_is_a_part_of_the_passage(text: str, query: str) -> None:
    shown = excerpt(text, compile_highlight(query))
    assert len(shown) <= SHOWN_CHARACTERS + 2
    assert shown in text or shown.removeprefix("…").removesuffix("…") in text


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Console:
    """A screen of 80 columns."""
    screen = Console(width=80, highlight=False, record=True)
    monkeypatch.setattr(console, "stdout", lambda: screen)
    monkeypatch.setattr(console, "stderr", lambda: screen)
    return screen


PLACE = Place(
    source_id="0123456789abcdef" * 2,
    ontology="handbook",
    document="a long way/down/to the document.md",
    document_id="f" * 32,
    paragraph=7,
    heading=["Part One", "Leases [draft]"],
    start=100,
    end=160,
    full_text="A worker renews its lease [every] ten seconds.\n\n",
)


def hits(*similarities: float | None, degraded: tuple[Degradation, ...] = ()) -> SourceHits:
    found = [
        SourceHit(
            **PLACE.model_dump(),
            similarity=similarity,
            score=0.5,
            ranks=Ranks(vector=1),
            chunk=MatchedChunk(text=PLACE.full_text, start=100, end=160),
        )
        for similarity in similarities
    ]
    return SourceHits(
        query_text="lease",
        mode="hybrid",
        space="default",
        sources=found,
        degraded=[*degraded],
        timings_ms={"total": 12.3},
    )


def test_a_hit_shows_where_it_is_and_its_whole_id(narrow: Console) -> None:
    print_hits(hits(0.873, None), full=False)
    shown = narrow.export_text()
    assert shown.count(PLACE.source_id) == 2
    assert "handbook / a long way/down/to the document.md" in shown
    assert "Part One > Leases [draft] > ¶7" in " ".join(shown.split())
    assert "A worker renews its lease [every] ten seconds." in shown
    assert [line.split()[1] for line in shown.splitlines() if line.startswith((" 1 ", " 2 "))] == [
        "0.87",
        "-",
    ]


def test_what_could_not_be_done_is_said_before_the_hits(narrow: Console) -> None:
    told = Degradation(part="embedding", effect="searched by full text only [no vectors]")
    print_hits(hits(0.5, degraded=(told,)), full=False)
    shown = narrow.export_text()
    assert shown.splitlines()[0] == "note: searched by full text only [no vectors]"


def test_no_hit_is_said(narrow: Console) -> None:
    print_hits(hits(), full=False)
    assert narrow.export_text().startswith("Nothing was found")


def test_it_is_said_that_nothing_was_similar_enough(narrow: Console) -> None:
    answer = hits()
    answer.left_out = LeftOut(below_similarity=9, nearest=0.532)
    print_hits(answer, full=False)
    assert " ".join(narrow.export_text().split()) == (
        "Nothing was similar enough: 9 passages left out, the nearest has 0.53."
    )


def test_a_long_passage_is_shown_whole_when_asked_for(narrow: Console) -> None:
    long = hits(0.5)
    long.sources[0].chunk.text = "word " * 300 + "end."
    print_hits(long, full=False)
    assert "end." not in narrow.export_text()
    print_hits(long, full=True)
    assert "end." in narrow.export_text()


def test_a_context_marks_the_paragraph_that_was_asked_for(narrow: Console) -> None:
    other = PLACE.model_copy(update={"source_id": "a" * 32, "paragraph": 8, "full_text": "Next.\n"})
    print_context(SourceWindow(source_id=PLACE.source_id, window_size=1, sources=[PLACE, other]))
    shown = narrow.export_text().splitlines()
    assert shown[0] == "handbook / a long way/down/to the document.md"
    assert [line[0] for line in shown if "¶" in line] == [">", " "]
    assert "Next." in shown
