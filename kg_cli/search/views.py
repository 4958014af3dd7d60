"""Views of hits, answers, similar passages and subgraphs for people."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kg_api.wording import describe_ocr, find_gap, find_letter_start, pluralize, shorten
from kg_cli.terminal import console
from kg_cli.terminal.answers import SHORT_ID, Column, note_all, print_rows, short_id
from kg_cli.terminal.console import Part

if TYPE_CHECKING:
    from kg_api.schemas.answers import Answered, Augmented, HybridHits, Statement
    from kg_api.schemas.constructive import AnyNode, Subgraph, SubgraphEdge
    from kg_api.schemas.search import (
        ContextWindow,
        DocumentReading,
        LeftOut,
        SourceHit,
        SourceHits,
        SourcePlace,
        SourceWindow,
        WordMatch,
    )
    from kg_api.schemas.similarity import SimilarSources

SHOWN_CHARACTERS = 500
LEAD_CHARACTERS = 120
STYLE = "bold yellow"
QUOTE_CHARACTERS = 300
INDENT = 4  # width of the number of a hit
TEXT_LINES = 2
DATE = len("2026-01-31")
MIN_NAME = 24  # minimum characters of a document name beside a heading
_HEADING = re.compile(r"\s*#{1,6}[ \t]+([^\n]*?)[ \t]*\n")
_SPACE = re.compile(r"(?:^[ \t]*(?:`{3,}|~{3,})[\w+#.-]*[ \t]*$|\s)+", re.MULTILINE)
"""Whitespace, and the lines that begin and end a code block."""
MAX_EDGES = 50

Marks = Sequence[tuple[int, int]]  # start and end of each marked place


def find_marks(source: SourcePlace, matches: Iterable[WordMatch], start: int, text: str) -> Marks:
    """Find the matches of a source relative to a text that begins at `start` of the same document."""
    return [*_shift_marks(((each.start, each.end) for each in matches), source.start - start, len(text))]


def mark_spans(text: str, marks: Marks = ()) -> list[Part]:
    parts, done = list[Part](), 0
    for start, end in sorted(marks):
        parts += [text[done:start], (text[max(start, done) : end], STYLE)]
        done = max(done, end)
    return [*parts, text[done:]]


def cut_excerpt(
    text: str, marks: Marks = (), size: int = SHOWN_CHARACTERS, lead: int = LEAD_CHARACTERS
) -> list[Part]:
    """Return `size` columns of a passage, with at most `lead` before the first mark."""
    from rich.cells import cell_len

    begin = len(text) - len(text.lstrip())
    first = marks[0][0] - begin if marks else 0
    whole = text.strip()
    width = max(1, cell_len(whole) / (len(whole) or 1))  # 2 for Chinese
    size, lead = round(size / width), round(lead / width)
    start = find_letter_start(whole, max(0, min(first - lead, len(whole) - size)))
    visible = whole[start : find_letter_start(whole, min(start + size, len(whole)))]
    within = [*_shift_marks(marks, -begin - start, len(visible))]
    more = start + len(visible) < len(whole)
    return ["…" if start else "", *mark_spans(visible, within), "…" if more else ""]


def _shift_marks(marks: Iterable[tuple[int, int]], by: int, length: int) -> Iterator[tuple[int, int]]:
    for start, end in marks:
        first, last = max(start + by, 0), min(end + by, length)
        if first < last:
            yield first, last


# Passages


def format_title(place: SourcePlace, width: int = sys.maxsize) -> list[Part]:
    """Return document, place and date. To fit the width, drop the date, the first headings, and letters.

    The last heading stays if there is room for the end of the document name.
    """
    from rich.cells import cell_len

    from kg_api.schemas.embedding import find_document_date

    day = (find_document_date(getattr(place, "metadata", {})) or "")[:DATE]
    name, steps = f"{place.ontology} / {place.document}", _format_place(place).split(" > ")
    where, date = " > ".join(steps), f"  {day}" if day else ""
    if cell_len(name) + 2 + cell_len(where) + len(date) > width:
        date = ""
    while len(steps) > 1 and cell_len(name) + 2 + cell_len(where) > width:
        if len(steps) == 2 and width - 2 - cell_len(where) >= MIN_NAME:  # noqa: PLR2004 - heading and paragraph
            break
        steps = steps[1:]
        where = " > ".join(["…", *steps])
    room = max(width - cell_len(where) - 2, 1)
    name = name if cell_len(name) <= room else f"…{_keep_end(name, room - 1)}"
    return [(name, "bold"), "  ", (where, "cyan"), (date, "dim")]


def _keep_end(text: str, width: int) -> str:
    """Return the end of a text that fits the width."""
    from rich.cells import cell_len

    at = max(0, len(text) - max(width, 0))
    while at < len(text) and (cell_len(text[at:]) > width or find_letter_start(text, at) != at):
        at += 1
    return text[at:]


def _format_place(place: SourcePlace) -> str:
    position = place.position or ""
    page = [position] if position else []
    if place.image is not None:
        page.append(f"image of {place.image.width} x {place.image.height}")
    ocr = f" ({describe_ocr(place.ocr_confidence)})" if place.ocr else ""
    heading = place.heading[1:] if position.startswith("sheet ") else place.heading
    return " > ".join([*heading, *page, f"¶{place.paragraph}"]) + ocr


def _find_body(text: str, headings: Sequence[str]) -> int:
    """Return where a Markdown text begins after lines that repeat its headings."""
    begin = 0
    while (found := _HEADING.match(text, begin)) and found[1] in headings and text[found.end() :].strip():
        begin = found.end()
    return begin


def print_passage(
    number: int,
    place: SourcePlace,
    text: str,
    marks: Marks = (),
    *,
    identity: str,
    measure: str = "",
    notes: Iterable[str] = (),
    whole: bool = False,
) -> None:
    """Print a passage on three lines: its place, and the text around its first match. `whole` prints all."""
    from rich.text import Text

    width = console.stdout().width - INDENT
    end = f"  {identity if whole else identity[:SHORT_ID]}  {measure}".rstrip()
    title = console.style_text(format_title(place, width - len(end)))
    title.truncate(max(width - len(end), INDENT), overflow="ellipsis")
    console.line(Text.assemble((f"{number:>{INDENT - 2}}  ", "bold"), title, (end, "dim")))
    if whole:
        lines = console.style_text(mark_spans(text, marks)).wrap(console.stdout(), width)
    else:
        begin = _find_body(text, place.heading)  # the title line shows the headings
        text, marks = text[begin:], [*_shift_marks(marks, -begin, len(text) - begin)]
        parts = cut_excerpt(text, marks, 2 * width, width // 2)
        flat = [
            _SPACE.sub(" ", each) if isinstance(each, str) else (_SPACE.sub(" ", each[0]), each[1])
            for each in parts
        ]
        lines = console.style_text(flat).wrap(console.stdout(), width)
        if len(lines) > TEXT_LINES:
            lines = lines[:TEXT_LINES]
            lines[-1].truncate(width - 1)
            lines[-1].append("…")
    for each in lines:
        console.line(Text(" " * INDENT).append_text(each))
    for each in notes:
        console.line(f"{' ' * INDENT}{each}", "yellow")


def print_hits(answer: SourceHits, *, full: bool = False, page: int = 1, first: int = 1) -> None:
    """Print the hits of a search, numbered from `first`."""
    note_all(answer)
    if not answer.sources:
        console.say("No more hits." if page > 1 else _describe_empty_result(answer.left_out))
        return
    _print_ranking(answer.sources, full=full, first=first, spaces=len(answer.spaces) > 1)
    print_windows(answer.windows)
    took = f"{answer.timings_ms['total']:.0f} ms"
    then = f"Read around one: kg show ID, or in the browser: kg open {first}"
    console.say(f"{pluralize(len(answer.sources), 'hit')} in {took}. {then}")
    _print_next_page(answer.next_cursor, page)


def _describe_empty_result(left_out: LeftOut) -> str:
    if left_out.nearest is None or not left_out.below_similarity:
        return "Nothing was found. `kg ontologies` lists the ontologies."
    text = pluralize(left_out.below_similarity, "passage")
    return f"Nothing was similar enough: {text} omitted, the nearest has {left_out.nearest:.2f}."


def print_hybrid(answer: HybridHits, *, full: bool = False, page: int = 1, first: int = 1) -> None:
    note_all(answer)
    console.note(answer.concepts_note)
    named: dict[str, Column] = {"concept": "label"}
    if len({each.ontology for each in answer.concepts}) > 1:
        named["ontology"] = "ontology"
    counts: dict[str, Column] = {"similarity": "similarity", "passages": "sources"}
    print_rows(answer.concepts, {**named, **counts, "id": short_id("concept_id")})
    _print_ranking(answer.sources, full=full, first=first)
    print_windows(answer.windows)
    found = f"{pluralize(len(answer.concepts), 'concept')} and {pluralize(len(answer.sources), 'passage')}"
    console.say(
        f"{found} in {answer.timings_ms['total']:.0f} ms. Show a concept: kg concepts show ID. "
        f"Read around a passage: kg show ID, or in the browser: kg open {first}"
    )
    _print_next_page(answer.next_cursor, page)


def _print_next_page(cursor: str | None, page: int) -> None:
    if cursor is not None:
        console.say(f"For more hits, add --page {page + 1}")


def _print_ranking(hits: Sequence[SourceHit], *, full: bool, first: int, spaces: bool = False) -> None:
    weak = find_gap([hit.score for hit in hits]) if first == 1 else None
    for number, hit in enumerate(hits):
        if number == weak:
            console.line("weaker:", "dim")
        part = (hit.parent or hit.chunk) if full else hit.chunk
        notes = [f"through: {', '.join(each.label for each in hit.through)}"] if hit.through else []
        notes += _explain(hit)
        notes += [f"almost the same: {', '.join(hit.duplicates)}"] if hit.duplicates else []
        similarity = "-" if hit.similarity is None else f"{hit.similarity:.2f}"
        print_passage(
            first + number,
            hit,
            part.text,
            find_marks(hit, hit.matches, part.start, part.text),
            identity=hit.source_id,
            measure=f"{similarity} {hit.space}" if spaces and hit.space else similarity,
            notes=notes,
            whole=full,
        )


def _explain(hit: SourceHit) -> Iterator[str]:
    """Explain a line for each stage that ranked the hit."""
    explanation = hit.explanation
    if explanation is None:
        return
    for part in explanation.lanes:
        rank = "not found, but measured" if part.rank is None else f"#{part.rank}"
        score = f"score {part.score:.3g}, "
        if explanation.fusion == "adaptive" and part.weight:  # adds weight * (score - baseline)
            score += f"baseline {round(part.score - part.contribution / part.weight, 3):g}, "
        score += f"weight {part.weight:.3g}, adds {part.contribution:.3g}"
        yield f"  {part.lane}: {rank}, {score} ({part.index})"
    yield f"  fused ({explanation.fusion}): #{explanation.fused_rank}, {explanation.fused_score:.3g}"
    if explanation.rerank_rank is not None:
        own = f"cross-encoder {explanation.rerank_score:.3g}"
        yield f"  reranked: #{explanation.rerank_rank}, {own} and the fused place give {hit.score:.3g}"
    if explanation.mmr_rank is not None:
        yield f"  diversified: #{explanation.mmr_rank}, value {explanation.mmr_score:.3g}"


def print_windows(windows: Sequence[ContextWindow]) -> None:
    for each in windows:
        where = " > ".join([f"{each.ontology} / {each.document}", *each.heading])
        size = pluralize(each.tokens, "token")
        console.block(f"{where}  {each.start}-{each.end}, {size}", "bold")
        console.block(each.text.strip() + "\n")


def print_context(context: SourceWindow) -> None:
    """Print paragraphs in reading order and mark the requested one."""
    note_all(context)
    if context.sources:
        first = context.sources[0]
        console.block(f"{first.ontology} / {first.document}", "bold")
    for place in context.sources:
        chosen = place.source_id == context.source_id
        console.block(f"\n{'>' if chosen else ' '} {_format_place(place)}", "cyan")
        console.block(place.full_text.strip(), "bold" if chosen else "dim")
    if context.left_out:
        size = f"{context.tokens} of {context.token_budget} tokens"
        console.say(f"\n{size}. {context.left_out} surrounding paragraphs did not fit.")


def print_reading(part: DocumentReading) -> None:
    """Print paragraphs in document order below the title, and how to continue."""
    from kg_api.schemas.embedding import find_document_date

    note_all(part)
    about = part.document
    name = f"{about.ontology}/{about.document}"
    known = [name.replace("/", " / ", 1), about.title if about.title != about.document else ""]
    console.block(", ".join(filter(None, [*known, find_document_date(about.metadata)])) + "\n", "bold")
    console.block("".join(each.full_text for each in part.sources).rstrip())
    paragraphs = pluralize(about.sources, "paragraph")
    if part.next is None:
        console.say(f"\nThis is the end of {paragraphs}.")
    else:
        then = f"kg read {shlex.quote(name)} --from {part.next}"
        console.say(f"\n{part.left} of {paragraphs} left. Read on: {then}")


# Answers and augmentations


def print_statement(statement: Statement) -> None:
    numbers = "".join(f"[{cited.number}]" for cited in statement.citations)
    console.block([f"{statement.text} ", (numbers, "cyan"), "\n"])


def print_end(answer: Answered) -> None:
    for cited in answer.citations:
        quote = " ".join(cited.quote.split())
        shortened = shorten(quote, QUOTE_CHARACTERS)
        where = " > ".join([*cited.heading, f"¶{cited.paragraph}"])
        name = (f"{cited.ontology} / {cited.document}", "bold")
        console.block([(f"[{cited.number}] ", "cyan"), name, "  ", (where, "cyan"), f"\n    “{shortened}”"])
        console.block(f"    {cited.citation}", "dim")
    note_all(answer)
    counts = answer.counts
    if answer.reason is not None:
        console.say(f"No answer: {answer.reason}.")
    if count := counts.without_citation:
        were = f"{pluralize(count, 'statement')} {'was' if count == 1 else 'were'} omitted"
        console.note(f"{were}: the quotes are not in the cited passages")
    text = f"{pluralize(counts.statements, 'statement')} from {pluralize(counts.shown, 'passage')}"
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{text} by {answer.model}, {took}. Read around one: kg show CITATION")


def print_augmented(answer: Augmented) -> None:
    """Print Markdown for a program or a model."""
    sys.stdout.write(console.escape_text(answer.context) if sys.stdout.isatty() else answer.context)
    note_all(answer)
    counts = answer.counts
    if not answer.records:
        console.say("No passage matches the text.")
    far = f" ({counts.below_similarity} not similar enough)" if counts.below_similarity else ""
    unknown = f" ({counts.without_vector} of unknown similarity)" if counts.without_vector else ""
    console.say(
        f"{pluralize(counts.tokens, 'token')} in {pluralize(counts.pieces, 'piece')}: "
        f"{pluralize(counts.candidates, 'hit')}{far}{unknown}, {pluralize(counts.records, 'passage')} of "
        f"{pluralize(answer.context_tokens, 'token')}, {answer.timings_ms['total']:.0f} ms"
    )


# Similar passages


def print_similar(answer: SimilarSources) -> None:
    note_all(answer)
    if not answer.sources:
        console.say("Nothing similar was found.")
        return

    for number, each in enumerate(answer.sources, start=1):
        notes = ["near-duplicate"] if each.near_duplicate else []
        notes += [
            f"almost the same: {copy.ontology} / {copy.document} ¶{copy.paragraph}"
            for copy in each.duplicates
        ]
        measure = f"{each.similarity:.2f}"
        print_passage(number, each, each.chunk.text, identity=each.source_id, measure=measure, notes=notes)
    own = f"{answer.source.ontology} / {answer.source.document} ¶{answer.source.paragraph}"
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{len(answer.sources)} similar to {own} in {took}. Read one: kg show ID")


# Subgraphs


def print_subgraph(answer: Subgraph) -> None:
    """Print the nodes, the best first, and the edges with a quote of each."""
    note_all(answer)
    for step in answer.steps:
        console.note(*(f"step {step.number} ({step.step}): {cut.effect}" for cut in step.cut))
    names = {node.id: _format_name(node) for node in answer.nodes}
    print_rows(answer.nodes, {"#": "rank", "kind": "kind", "node": lambda each: names[each.id], "id": "id"})
    columns: dict[str, Column] = {
        "edge": lambda each: f"{names[each.subject]} {each.type} {names[each.object]}",
        "sources": "sources",
        "quote": _format_quoted,
    }
    print_rows(answer.edges[:MAX_EDGES], columns)
    if (more := len(answer.edges) - MAX_EDGES) > 0:
        console.say(f"{pluralize(more, 'more edge', 'more edges')}: --json prints all.")
    steps = ", ".join(f"{each.step} {each.nodes}" for each in answer.steps)
    nodes, edges = pluralize(len(answer.nodes), "node"), pluralize(len(answer.edges), "edge")
    console.say(f"{nodes}, {edges} in {answer.timings_ms['total']:.0f} ms. Nodes after each step: {steps}.")


def _format_name(node: AnyNode) -> str:
    if node.kind == "concept":
        return node.concept.label
    if node.kind == "document":
        return node.document.document
    return f"{node.source.document} ¶{node.source.paragraph}"


def _format_quoted(edge: SubgraphEdge) -> str:
    unverified = "" if edge.verified else "unverified: no quote proves it"
    return "\n".join([*(f"“{each.quote or each.statement}”" for each in edge.quotes[:1]), unverified]).strip()
