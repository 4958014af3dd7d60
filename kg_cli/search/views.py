"""Views of hits, answers, similar passages and subgraphs for people."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kg_api.wording import describe_ocr, describe_pages, pluralize
from kg_cli.terminal import console
from kg_cli.terminal.answers import note_all, print_rows
from kg_cli.terminal.console import Part, Shown

if TYPE_CHECKING:
    from kg_api.schemas.answers import Answered, Augmented, AugmentRecord, HybridHits, Statement
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
    from kg_api.schemas.similarity import (
        RepeatedText,
        SimilarDocument,
        SimilarDocuments,
        SimilarSource,
        SimilarSources,
        SourceGraph,
    )

MARKING_SHOWN_CHARACTERS = 500
LEAD_CHARACTERS = 120  # characters before the first match
STYLE = "bold yellow"
QUOTE_CHARACTERS = 300
MAX_EDGES = 50
MAX_REPEATED = 5
MAX_EXCERPT = 60

Marks = Sequence[tuple[int, int]]  # start and end of each marked place


def marks_in(source: SourcePlace, matches: Iterable[WordMatch], start: int, text: str) -> Marks:
    """Return the matches of a source relative to a text that begins at `start` of the same document."""
    return [*_shift(((each.start, each.end) for each in matches), source.start - start, len(text))]


def mark(text: str, marks: Marks = ()) -> list[Part]:
    parts, done = list[Part](), 0
    for start, end in sorted(marks):
        parts += [text[done:start], (text[max(start, done) : end], STYLE)]
        done = max(done, end)
    return [*parts, text[done:]]


def excerpt(text: str, marks: Marks = ()) -> list[Part]:
    """Return the part of a passage around its first mark. `…` stands for omitted text."""
    begin = len(text) - len(text.lstrip())
    first = marks[0][0] - begin if marks else 0
    whole = text.strip()
    start = max(0, min(first - LEAD_CHARACTERS, len(whole) - MARKING_SHOWN_CHARACTERS))
    shown = whole[start : start + MARKING_SHOWN_CHARACTERS]
    within = [*_shift(marks, -begin - start, len(shown))]
    more = start + len(shown) < len(whole)
    return ["…" if start else "", *mark(shown, within), "…" if more else ""]


def _shift(marks: Iterable[tuple[int, int]], by: int, length: int) -> Iterator[tuple[int, int]]:
    for start, end in marks:
        first, last = max(start + by, 0), min(end + by, length)
        if first < last:
            yield first, last


# Passages


def title_of(place: SourcePlace) -> list[Part]:
    from kg_api.schemas.metadata import date_of

    date = date_of(getattr(place, "metadata", {}))
    name = (f"{place.ontology} / {place.document}", "bold")
    return [name, "  ", (_where(place), "cyan"), (f"  {date}" if date else "", "dim"), "\n"]


def _where(place: SourcePlace) -> str:
    page = [] if place.page is None else [describe_pages(place.page, place.last_page)]
    if place.image is not None:
        page.append(f"image of {place.image.width} x {place.image.height}")
    ocr = f" ({describe_ocr(place.ocr_confidence)})" if place.ocr else ""
    return " > ".join([*place.heading, *page, f"¶{place.paragraph}"]) + ocr


def passage_of(place: SourcePlace, text: Sequence[Part], identity: str, notes: Iterable[str] = ()) -> Shown:
    """Return a passage below its title, with notes, and with its id on its own line for copying."""
    told = "".join(f"\n{each}" for each in notes)
    return [*title_of(place), *text, (told, "yellow"), (f"\n{identity}\n", "dim")]


def _two_digits(similarity: float | None) -> str:
    return "-" if similarity is None else f"{similarity:.2f}"


def print_hits(answer: SourceHits, full: bool = False, cursor: str | None = None) -> None:
    """Print the hits of a search."""
    note_all(answer)
    if not answer.sources:
        console.say("There are no more hits." if cursor else _nothing(answer.left_out))
        return
    _print_ranking(answer.sources, full=full, spaces=len(answer.spaces) > 1)
    print_windows(answer.windows)
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{pluralize(len(answer.sources), 'hit')} in {took}. Read around one: kg show ID")
    _say_more(answer.next_cursor)


def _nothing(left_out: LeftOut) -> str:
    if left_out.nearest is None or not left_out.below_similarity:
        return "Nothing was found. `kg ontologies` lists the ontologies."
    told = pluralize(left_out.below_similarity, "passage")
    return f"Nothing was similar enough: {told} omitted, the nearest has {left_out.nearest:.2f}."


def print_hybrid(answer: HybridHits, full: bool = False) -> None:
    note_all(answer)
    console.note(answer.concepts_note)
    concept: list[Part] = [("{label}", "bold"), ("\n{concept_id}\n", "dim")]
    columns = {"concept": concept, "similarity": "{similarity:.2f}", "passages": "{sources}"}
    print_rows(answer.concepts, columns)
    _print_ranking(answer.sources, full=full, spaces=False)
    print_windows(answer.windows)
    found = f"{pluralize(len(answer.concepts), 'concept')} and {pluralize(len(answer.sources), 'passage')}"
    console.say(
        f"{found} in {answer.timings_ms['total']:.0f} ms. More of a concept: kg concepts show ID; "
        "read around a passage: kg show ID"
    )
    _say_more(answer.next_cursor)


def _say_more(cursor: str | None) -> None:
    if cursor is not None:
        console.say(f"There are more hits. Repeat the command with --cursor {cursor}")


def _print_ranking(hits: Sequence[SourceHit], *, full: bool, spaces: bool) -> None:
    def similarity(hit: SourceHit) -> str:  # similarities of two models are not comparable
        return _two_digits(hit.similarity) + (f"\n{hit.space}" if spaces and hit.space else "")

    def passage(hit: SourceHit) -> Shown:
        part = (hit.parent or hit.chunk) if full else hit.chunk
        marks = marks_in(hit, hit.matches, part.start, part.text)
        told = [hit.source_id]
        if hit.through:
            told.append(f"through: {', '.join(each.label for each in hit.through)}")
        told += _explain(hit)
        if hit.duplicates:
            told.append(f"almost the same: {', '.join(hit.duplicates)}")
        return passage_of(hit, (mark if full else excerpt)(part.text, marks), "\n".join(told))

    print_rows(hits, {"similarity": similarity, "passage": passage}, numbered=True)


def _explain(hit: SourceHit) -> Iterator[str]:
    """Yield a line for each stage that ranked the hit."""
    explanation = hit.explanation
    if explanation is None:
        return
    for part in explanation.lanes:
        rank = "not found, but measured" if part.rank is None else f"#{part.rank}"
        score = f"score {part.score:.3g}, weight {part.weight:.3g}, adds {part.contribution:.3g}"
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
        console.block(f"\n{'>' if chosen else ' '} {_where(place)}", "cyan")
        console.block(place.full_text.strip(), "bold" if chosen else "dim")
    if context.left_out:
        size = f"{context.tokens} of {context.token_budget} tokens"
        console.say(f"\n{size}; {context.left_out} of the paragraphs around it did not fit.")


def print_reading(part: DocumentReading) -> None:
    """Print paragraphs in document order below the title, and how to continue."""
    from kg_api.schemas.metadata import date_of

    note_all(part)
    about = part.document
    name = f"{about.ontology}/{about.document}"
    known = [name.replace("/", " / ", 1), about.title if about.title != about.document else ""]
    console.block(", ".join(filter(None, [*known, date_of(about.metadata)])) + "\n", "bold")
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
    """Print the citations and notes of an answer."""
    for cited in answer.citations:
        quote = " ".join(cited.quote.split())
        shown = quote if len(quote) <= QUOTE_CHARACTERS else f"{quote[:QUOTE_CHARACTERS]}…"
        where = " > ".join([*cited.heading, f"¶{cited.paragraph}"])
        name = (f"{cited.ontology} / {cited.document}", "bold")
        console.block([(f"[{cited.number}] ", "cyan"), name, "  ", (where, "cyan"), f"\n    “{shown}”"])
        console.block(f"    {cited.citation}", "dim")
    note_all(answer)
    counts = answer.counts
    if answer.reason is not None:
        console.say(f"No answer: {answer.reason}.")
    if count := counts.without_citation:
        were = f"{pluralize(count, 'statement')} {'was' if count == 1 else 'were'} omitted"
        console.note(f"{were}: the quotes are not in the cited passages")
    told = f"{pluralize(counts.statements, 'statement')} from {pluralize(counts.shown, 'passage')}"
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{told} by {answer.model}, {took}. Read around one: kg show CITATION")


def print_augmented(answer: Augmented, records: bool = False) -> None:
    """Print Markdown for a program, or a table of the passages for people."""
    if records:
        columns = {"similarity": "{similarity:.2f}", "pieces": "{pieces}", "passage": _record}
        print_rows(answer.records, columns, numbered=True)
    else:
        sys.stdout.write(console.escape_text(answer.context) if sys.stdout.isatty() else answer.context)
    note_all(answer)
    counts = answer.counts
    if not answer.records:
        console.say("No passage goes with the text.")
    far = f" ({counts.below_similarity} not similar enough)" if counts.below_similarity else ""
    unknown = f" ({counts.without_vector} of unknown similarity)" if counts.without_vector else ""
    console.say(
        f"{pluralize(counts.tokens, 'token')} in {pluralize(counts.pieces, 'piece')}: "
        f"{pluralize(counts.candidates, 'hit')}{far}{unknown}, {pluralize(counts.records, 'passage')} of "
        f"{pluralize(answer.context_tokens, 'token')}, {answer.timings_ms['total']:.0f} ms"
    )


def _record(record: AugmentRecord) -> Shown:
    from kg_api.mcp.answers import read_citation

    _, place = read_citation(record.citation)
    marks = marks_in(record, record.matches, place.start if place else record.start, record.text)
    return passage_of(record, excerpt(record.text, marks), record.citation)


# Similar passages and documents


def print_similar(answer: SimilarSources) -> None:
    note_all(answer)
    if not answer.sources:
        console.say("Nothing similar was found.")
        return

    def measure(each: SimilarSource) -> str:
        return f"{each.score if each.similarity is None else each.similarity:.2f}"

    def passage(each: SimilarSource) -> Shown:
        told = ["near-duplicate"] if each.near_duplicate else []
        told += [
            f"almost the same: {copy.ontology} / {copy.document} ¶{copy.paragraph}"
            for copy in each.duplicates
        ]
        return passage_of(each, excerpt(each.chunk.text), each.source_id, told)

    name = "similarity" if answer.by == "vector" else "score"
    print_rows(answer.sources, {name: measure, "passage": passage}, numbered=True)
    own = f"{answer.source.ontology} / {answer.source.document} ¶{answer.source.paragraph}"
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{len(answer.sources)} similar to {own} in {took}. Read one: kg show ID")


def print_similar_documents(answer: SimilarDocuments) -> None:
    def document(each: SimilarDocument) -> Shown:
        pairs = [
            f"\n  ¶{pair.own.paragraph} - ¶{pair.other.paragraph}  {pair.similarity:.2f}"
            f"{'  almost the same' if pair.near_duplicate else ''}"
            for pair in each.pairs
        ]
        return [(f"{each.ontology} / {each.document}", "bold"), *pairs]

    note_all(answer)
    print_rows(answer.documents, {"score": "{score:.2f}", "document": document}, numbered=True)
    _say_repeated(answer.repeated)
    found, own = pluralize(len(answer.documents), "document"), f"{answer.ontology} / {answer.document}"
    console.say(f"{found} similar to {own}; {answer.compared} of {answer.sources} passages compared.")


def print_graph(graph: SourceGraph) -> None:
    """Print the pairs of a graph, the most similar first, and the size of the graph."""
    note_all(graph)
    nodes: dict[str, list[Part]] = {
        node.source_id: [*title_of(node), (f"{node.source_id}\n", "dim")] for node in graph.nodes
    }
    rows: list[list[Shown]] = []
    for edge in graph.edges[:MAX_EDGES]:
        same = ("almost the same\n" if edge.near_duplicate else "", "yellow")
        rows.append([f"{edge.similarity:.2f}", [*nodes[edge.a], *nodes[edge.b], same]])
    if rows:
        console.print_table(["similarity", "passages"], rows)
    if len(graph.edges) > MAX_EDGES:
        console.say(f"{len(graph.edges) - MAX_EDGES} more pairs: --json prints all.")
    _say_repeated(graph.repeated)
    alone = sum(not node.degree for node in graph.nodes)
    size = f"{pluralize(len(nodes), 'passage')}, {pluralize(len(graph.edges), 'pair')}"
    groups = pluralize(len(graph.groups), "group of near-duplicates", "groups of near-duplicates")
    console.say(f"{size}, {groups}; {alone} without a pair.")


def _say_repeated(repeated: Sequence[RepeatedText]) -> None:
    for each in repeated[:MAX_REPEATED]:
        text = repr(each.text[:MAX_EXCERPT])
        console.say(f"skipped, because {pluralize(each.documents, 'document')} repeat it: {text}")
    if (more := len(repeated) - MAX_REPEATED) > 0:
        console.say(f"{more} more such texts: --json prints all; --repeated compares them as well.")


# Subgraphs


def print_subgraph(answer: Subgraph) -> None:
    """Print the nodes, the best first, and the edges with their quotes."""
    note_all(answer)
    for step in answer.steps:
        console.note(*(f"step {step.number} ({step.step}): {cut.effect}" for cut in step.cut))
    names = {node.id: _name(node) for node in answer.nodes}
    if answer.nodes:
        rows = [(str(node.rank), node.kind, _node(node, names)) for node in answer.nodes]
        console.print_table(["#", "kind", "node"], rows)
    for edge in answer.edges[:MAX_EDGES]:
        console.block(_edge(edge, names))
    if (more := len(answer.edges) - MAX_EDGES) > 0:
        console.say(f"{pluralize(more, 'more edge', 'more edges')}: --json prints all.")
    steps = ", ".join(f"{each.step} {each.nodes}" for each in answer.steps)
    nodes, edges = pluralize(len(answer.nodes), "node"), pluralize(len(answer.edges), "edge")
    console.say(f"{nodes}, {edges} in {answer.timings_ms['total']:.0f} ms; nodes after each step: {steps}.")


def _name(node: AnyNode) -> str:
    if node.kind == "concept":
        return node.concept.label
    if node.kind == "document":
        return node.document.document
    return f"{node.source.document} ¶{node.source.paragraph}"


def _node(node: AnyNode, names: dict[str, str]) -> Shown:
    way = node.reached[0]
    via = names.get(way.via or "", "an omitted node")
    path = f"{pluralize(way.hops, 'hop')} from a seed, along {way.along} from {via}"
    how = (f"\n{f'seed of step {way.step}' if way.along is None else path}  {node.id}\n", "dim")
    if node.kind == "concept":
        about = f"\n{node.concept.description}" if node.concept.description else ""
        where = f"  ({node.concept.ontology}, {pluralize(node.concept.sources, 'source')})"
        return [(node.concept.label, "bold"), where, about, how]
    if node.kind != "document":
        return [*title_of(node.source), *excerpt(node.source.full_text), how]
    title = f"  {node.document.title}" if node.document.title else ""
    size = f"{title}  ({pluralize(node.document.sources, 'source')})"
    return [(f"{node.document.ontology} / {node.document.document}", "bold"), size, how]


def _edge(edge: SubgraphEdge, names: dict[str, str]) -> Shown:
    told = pluralize(edge.sources, "source") if edge.kind == "related_to" else ""
    told += "" if edge.verified else "unverified: no quote proves it"
    parts: list[Part] = [(names[edge.subject], "bold"), f" {edge.type} ", (names[edge.object], "bold")]
    parts.append((f"  {told}" if told else "", "dim"))
    for each in edge.quotes:
        span = "" if each.start is None else f" {each.start}-{each.end}"
        said = f"“{each.quote}”" if each.quote else f"{each.statement} (no quote proves it)"
        parts += [f"\n  {said}", (f"  {each.document} ¶{each.paragraph}{span}  {each.source_id}", "dim")]
    return parts
