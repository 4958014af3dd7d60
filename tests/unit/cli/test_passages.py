from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from kg_api.errors import InvalidInput
from kg_api.schemas.answers import AnswerCounts, Answered, Citation, HybridHits, Statement
from kg_api.schemas.concepts import Concept, ConceptContext, ConceptHit, ConceptPassage
from kg_api.schemas.images import PageImage
from kg_api.schemas.search import Degradation, SourceHits, SourceWindow, WordMatch
from kg_api.wording import shorten
from kg_cli.concepts.commands import print_passages
from kg_cli.documents.commands import print_page
from kg_cli.search import commands, views
from kg_cli.search.commands import turn_to_page
from kg_cli.search.views import (
    SHOWN_CHARACTERS,
    cut_excerpt,
    find_marks,
    format_title,
    mark_spans,
    print_context,
    print_end,
    print_hits,
    print_hybrid,
    print_statement,
)
from kg_cli.terminal import console
from kg_cli.terminal.console import style_text
from tests.support.hits import make_hit, make_place
from tests.unit.search.found import place


def test_concept_id_is_copyable_at_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    label, identity = "a concept with a label that is rather long for a table " * 2, "0123456789abcdef" * 2
    own = {"concept_id": identity, "ontology": "o", "label": label, "description": "", "search_terms": []}
    concept = ConceptHit.model_validate({**own, "sources": 3, "similarity": 0.5, "score": 0.5})
    other = concept.model_copy(update={"ontology": "another"})
    print_hybrid(
        HybridHits(
            query_text="a",
            mode="hybrid",
            concepts=[concept, other],
            sources=[],
            degraded=[],
            timings_ms={"total": 1.0},
        ),
        full=False,
    )
    shown = capsys.readouterr().out
    assert f" {identity[:8]} " in shown
    assert "another" in shown


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Console:
    screen = Console(width=80, highlight=False, record=True)
    monkeypatch.setattr(console, "stdout", lambda: screen)
    monkeypatch.setattr(console, "stderr", lambda: screen)
    return screen


PLACE = make_place(
    "0123456789abcdef" * 2,
    "A worker renews its lease [every] ten seconds.\n\n",
    start=100,
    ontology="handbook",
    document="a long way/down/to the document.md",
    paragraph=7,
    heading=["Part One", "Leases [draft]"],
)


def hits(*similarities: float | None, degraded: tuple[Degradation, ...] = ()) -> SourceHits:
    found = [make_hit(PLACE, similarity) for similarity in similarities]
    return SourceHits(
        query_text="lease",
        mode="hybrid",
        space="default",
        sources=found,
        degraded=[*degraded],
        timings_ms={"total": 12.3},
    )


def test_headings_of_the_title_and_fences_of_code_are_omitted(narrow: Console) -> None:
    found = hits(0.9, 0.8, 0.7, 0.6)
    texts = (
        "# Part One\n\n## Leases [draft]\n\nIt renews.",
        "## Leases\n\nIt renews.",
        "# Part One\n",
        "```bash\nkg up\n```\nNot a ``` fence.",
    )
    for hit, text in zip(found.sources, texts, strict=True):
        hit.chunk.text = text
    print_hits(found)
    shown = [each.strip() for each in narrow.export_text().splitlines()]
    assert shown[1:8:2] == ["It renews.", "## Leases It renews.", "# Part One", "kg up Not a ``` fence."]


def test_hit_takes_three_lines(narrow: Console) -> None:
    found = hits(0.873, None)
    found.sources[1].chunk.text = "one lease [every]\n\n" + "word " * 100
    print_hits(found)
    first, text, second, *more = narrow.export_text().splitlines()[:5]
    assert first.startswith(
        " 1  …a long way/down/to the document.md  … > Leases [draft] > ¶7  01234567  0.87"
    )
    assert text.strip() == "A worker renews its lease [every] ten seconds."
    assert second.startswith(" 2  …")
    assert second.endswith("01234567  -")
    assert more[0].startswith("    one lease [every] word word")
    assert more[1].endswith("…")
    assert max(map(len, (first, text, second, *more))) <= 80


@pytest.mark.parametrize(
    ("document", "last", "place"),
    [
        ("costs.xlsx", None, "sheet Rent > ¶7"),
        ("talk.pptx", None, "Rent > slide 3 > ¶7"),
        ("a.pdf", 4, "Rent > pages 3-4 > ¶7"),
    ],
)
def test_place_names_sheet_slide_or_pages(
    narrow: Console, document: str, last: int | None, place: str
) -> None:
    found = hits(0.8)
    where = {"document": document, "heading": ["Rent"], "page": 3, "last_page": last}
    found.sources[0] = found.sources[0].model_copy(update=where)
    print_hits(found)
    assert f"/ {document}  {place}" in narrow.export_text().splitlines()[0]


def test_weaker_hits_are_marked_on_the_first_page(narrow: Console) -> None:
    found = hits(0.8, 0.6, 0.5)
    for hit, score in zip(found.sources, (3.0, 1.0, 0.9), strict=True):
        hit.score = score
    print_hits(found)
    lines = narrow.export_text().splitlines()
    assert lines.index("weaker:") == lines.index(next(each for each in lines if each.startswith(" 2"))) - 1
    print_hits(found, page=2, first=4)
    shown = narrow.export_text()
    assert "weaker:" not in shown
    assert " 6  …" in shown


def test_more_hits_are_on_the_next_page(narrow: Console) -> None:
    found = hits(0.8)
    found.next_cursor = "c" * 88
    print_hits(found)
    shown = narrow.export_text()
    assert "--page 2" in shown
    assert "cccc" not in shown


@pytest.mark.parametrize(("limit", "last"), [(10, 100), (30, 33)])
def test_page_after_the_last_hit_is_rejected(limit: int, last: int) -> None:
    def read(**_: str) -> SourceHits:
        reads.append(1)
        return found

    reads, found = list[int](), hits(0.8)
    found.next_cursor = "c" * 88
    turn_to_page(last, limit, read)
    assert len(reads) == last
    with pytest.raises(InvalidInput, match=f"exceeds {last}, the last page"):
        turn_to_page(last + 1, limit, read)
    assert len(reads) == last


def test_only_matches_of_the_service_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(width=80, highlight=False, record=True, force_terminal=True, color_system="standard")
    monkeypatch.setattr(console, "stdout", lambda: screen)
    found = hits(0.5)
    found.sources[0].matches = [WordMatch(start=20, end=25)]
    print_hits(found, full=False)
    shown = screen.export_text(styles=True)
    assert shown.count("\x1b[1;33m") == 1
    assert "\x1b[1;33mlease\x1b[0m" in shown


def test_degradations_are_printed_before_hits(narrow: Console) -> None:
    told = Degradation(part="embedding", effect="searched by full text only [no vectors]")
    print_hits(hits(0.5, degraded=(told,)), full=False)
    shown = narrow.export_text()
    assert shown.splitlines()[0] == "note: searched by full text only [no vectors]"


def test_context_marks_the_requested_paragraph(narrow: Console) -> None:
    other = PLACE.model_copy(update={"source_id": "a" * 32, "paragraph": 8, "full_text": "Next.\n"})
    print_context(SourceWindow(source_id=PLACE.source_id, window_size=1, sources=[PLACE, other]))
    shown = narrow.export_text().splitlines()
    assert shown[0] == "handbook / a long way/down/to the document.md"
    assert [line[0] for line in shown if "¶" in line] == [">", " "]
    assert "Next." in shown


NEIGHBOUR = PLACE.model_copy(update={"source_id": "a" * 32, "paragraph": 8, "full_text": "Next.\n"})
CONCEPT = Concept(concept_id="c", ontology="notes", label="lease", description="", search_terms=[], sources=1)


@pytest.mark.parametrize(
    ("view", "answer"),
    [
        (print_context, SourceWindow(source_id=PLACE.source_id, window_size=1, sources=[PLACE, NEIGHBOUR])),
        (
            print_passages,
            ConceptContext(
                concept=CONCEPT,
                window_size=1,
                passages=[
                    ConceptPassage(
                        source_id=PLACE.source_id,
                        carried_by=[PLACE.source_id],
                        quotes=[],
                        sources=[PLACE, NEIGHBOUR],
                    )
                ],
                more_passages=0,
            ),
        ),
    ],
)
def test_only_neighbours_are_dim(narrow: Console, view: Callable[[Any], None], answer: Any) -> None:
    view(answer)
    shown = narrow.export_text(styles=True)
    assert "\x1b[2mNext." in shown
    assert PLACE.full_text.strip()[:20] in shown
    assert f"\x1b[2m{PLACE.full_text.strip()[:20]}" not in shown


def answered(*citations: Citation, reason: str | None = None) -> Answered:
    counts = {name: 0 for name, field in AnswerCounts.model_fields.items() if field.is_required()}
    told = AnswerCounts(**{**counts, "statements": len(citations), "shown": 1, "without_citation": 2})
    usual = {"question": "q", "text": "", "refusal": None, "sources": [], "thresholds": [], "degraded": []}
    given = {**usual, "counts": told, "model": "writer", "timings_ms": {"total": 3.0}, "statements": []}
    return Answered.model_validate(
        {**given, "answered": bool(citations), "reason": reason, "citations": list(citations)}
    )


def test_statements_are_numbered_and_their_places_follow(narrow: Console) -> None:
    quote = {"quote": "[bold]every[/bold] ten seconds", "score": 1.0, "number": 1, "citation": "s#4-9"}
    cited = Citation(**quote, **PLACE.model_dump(include=set(Citation.model_fields)))
    print_statement(Statement(text="It renews [bold]every[/bold] ten seconds.", citations=[cited, cited]))
    print_end(answered(cited))
    shown = " ".join(narrow.export_text().split())
    assert shown.startswith("It renews [bold]every[/bold] ten seconds. [1][1] [1] handbook / a long way/down")
    assert "Leases [draft] > ¶7 “[bold]every[/bold] ten seconds” s#4-9" in shown
    assert "2 statements were omitted" in shown
    assert "1 statement from 1 passage by writer" in shown


LONG = "before " * 200 + "needle " + "after " * 200
NEEDLE = (LONG.index("needle"), LONG.index("needle") + 6)
SOURCE = make_place("s", "x" * 60, 100)


def marked(text: Text) -> list[str]:
    return [text.plain[span.start : span.end] for span in text.spans]


def test_long_passage_is_shown_around_first_mark() -> None:
    shown = style_text(cut_excerpt(LONG, [NEEDLE, (len(LONG) - 6, len(LONG) - 1)]))
    assert (shown.plain[0], shown.plain[-1], len(shown)) == ("…", "…", SHOWN_CHARACTERS + 2)
    assert "needle" in shown.plain[: len(shown) // 2]
    assert marked(shown) == ["needle"], "what is not shown is not marked"


def test_excerpts_fit_their_columns_and_keep_letters_whole() -> None:
    text = f"{'前' * 100}答案{'后' * 30}"
    shown = style_text(cut_excerpt(text, [(100, 102)], 80, 20))
    assert (shown.cell_len <= 82, marked(shown)) == (True, ["答案"])
    assert shown.plain.index("答") <= 11
    hindi = "नी" * 100
    for size in range(20, 24):
        shown = style_text(cut_excerpt(hindi, [(101, 103)], size, 10))
        assert shown.plain.strip("…") in {"नी" * count for count in (10, 11, 12)}
    assert shorten("abc", 3) == "abc"
    assert shorten("abनी", 3) == "ab…"
    assert shorten("a👩\u200d👧b", 3) == "a…"


@pytest.mark.parametrize(
    "letter",
    ["👍🏽", "🇩🇪", "क्षे", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "นำ", "ກຳ", "ｶﾞ"],
)
def test_shortened_text_keeps_letter_whole(letter: str) -> None:
    text = letter * 4
    size = len(letter)
    for at in range(len(text)):
        assert shorten(text, at) == f"{letter * (at // size)}…"


def test_title_keeps_the_paragraph_behind_wide_names() -> None:
    place = make_place("s", "x", heading=["日本語の文書" * 3], document="日本語の文書.md")
    for width in (20, 30, 40):
        title = style_text(format_title(place, width))
        assert title.cell_len <= width
        assert "¶" in title.plain


@pytest.mark.parametrize(
    ("start", "text", "expected"),
    [
        (100, "a lease of ten", ["lease"]),
        (102, "lease of ten", ["lease"]),
        (104, "ase of ten", ["ase"]),
        (90, "in front; a lease", ["lease"]),
        (90, "in front; a le", ["le"]),
        (110, "n seconds", []),
    ],
)
def test_source_marks_are_found_in_document_parts(start: int, text: str, expected: list[str]) -> None:
    marks = find_marks(SOURCE, [WordMatch(start=2, end=7)], start, text)
    assert marked(style_text(mark_spans(text, marks))) == expected


@given(st.text(max_size=2000), st.data())
def test_an_excerpt_is_a_part_of_the_passage(text: str, data: st.DataObject) -> None:
    places = st.integers(0, len(text))
    marks = sorted({(min(pair), max(pair)) for pair in data.draw(st.lists(st.tuples(places, places)))})
    shown = style_text(cut_excerpt(text, marks))
    assert len(shown) <= SHOWN_CHARACTERS + 2
    whole = style_text(mark_spans(text)).plain
    assert shown.plain in whole or shown.plain.removeprefix("…").removesuffix("…") in whole


def test_control_characters_do_not_move_marks() -> None:
    assert marked(style_text(mark_spans("a\r\n\x0clease\x07", [(4, 9)]))) == ["lease"]


@pytest.mark.parametrize(
    ("page", "last_page", "told"),
    [
        (1, 1, "(the hit is on page 1), nothing boxed"),
        (3, 5, "pages 3 to 5"),
        (None, None, "is on it, nothing"),
    ],
)
def test_hit_on_a_page_shows_page_command(
    page: int | None, last_page: int | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hit = place("a").model_copy(update={"page": page, "last_page": last_page})
    print_page(PageImage(b"png", 2, 6, 0), tmp_path / "2.png", asked=True, force=False, source=hit)
    assert told in " ".join(capsys.readouterr().err.split())


def test_hits_are_saved_for_kg_show_if_the_pipe_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setenv("KG_HOME", str(tmp_path))
    monkeypatch.setenv("KG_API_URL", "http://127.0.0.1:1")
    monkeypatch.setattr(views, "print_hits", close)
    with pytest.raises(BrokenPipeError):
        commands._print_hits(hits(0.9), query_text="a", full=False, page=1, limit=10)
    assert PLACE.source_id in (tmp_path / commands.LAST_SEARCH).read_text()
