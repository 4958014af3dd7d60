"""Words of the question marked in passages, at the places that the service tells."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence

from rich.markup import escape
from rich.text import Text

from kg_api.mcp.answers import read_citation
from kg_api.schemas.answers import Answered, Augmented, AugmentRecord, Citation, HybridHits, Statement
from kg_api.schemas.constructive import (
    AnyNode,
    EdgeQuote,
    Reached,
    StepReport,
    Subgraph,
    SubgraphConcept,
    SubgraphEdge,
    SubgraphSource,
)
from kg_api.schemas.metadata import date_of
from kg_api.schemas.search import (
    ContextWindow,
    DescribedPlace,
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
    SourceEdge,
    SourceGraph,
    SourceNode,
)
from kg_api.wording import describe_ocr, describe_pages, pluralize
from kg_cli.terminal import console

MARKING_SHOWN_CHARACTERS = 500
LEAD_CHARACTERS = 120
"""How much is shown before the first word that matches."""
STYLE = "bold yellow"

_DROPPED = {ord(character): " " for character in "\a\b\v\f\r"}
"""Characters that `Text` takes away, which would move the marks behind them."""

Marks = Sequence[tuple[int, int]]
"""Start and end of each place that is marked."""


def marks_in(source: SourcePlace, matches: Iterable[WordMatch], start: int, text: str) -> Marks:
    """The matches of a source as places of a text, which begins at `start` of the same document."""
    return [*_shift(((each.start, each.end) for each in matches), source.start - start, len(text))]


def mark(text: str, marks: Marks = ()) -> Text:
    marked = Text(text.translate(_DROPPED))
    for start, end in marks:
        marked.stylize(STYLE, start, end)
    return marked


def excerpt(text: str, marks: Marks = ()) -> Text:
    """The part of a passage around its first mark; `…` stands where text is left out."""
    begin = len(text) - len(text.lstrip())
    first = marks[0][0] - begin if marks else 0
    whole = text.strip()
    start = max(0, min(first - LEAD_CHARACTERS, len(whole) - MARKING_SHOWN_CHARACTERS))
    shown = whole[start : start + MARKING_SHOWN_CHARACTERS]
    within = [*_shift(marks, -begin - start, len(shown))]
    more = start + len(shown) < len(whole)
    return Text("…" if start else "") + mark(shown, within) + Text("…" if more else "")


def _shift(marks: Iterable[tuple[int, int]], by: int, length: int) -> Iterator[tuple[int, int]]:
    """The marks so much further, as far as they are within a text of that length."""
    for start, end in marks:
        first, last = max(start + by, 0), min(end + by, length)
        if first < last:
            yield first, last


# Passages as a person reads them.


def print_hits(answer: SourceHits, *, full: bool, further: bool = False) -> None:
    """Print the hits of a search as a table, and what could not be done.

    Args:
        answer: the page.
        full: whole passages, not only what matched.
        further: whether other pages were before.
    """
    console.note(*(each.effect for each in answer.degraded), *_given(answer.note))
    if not answer.sources:
        console.say(_nothing(answer.left_out, further=further))
        return
    several = len(answer.spaces) > 1
    rows = [
        _row_passages(number, hit, full=full, space=several)
        for number, hit in enumerate(answer.sources, start=1)
    ]
    console.print_table(["#", "similarity", "passage"], rows)
    print_windows(answer.windows)
    told = pluralize(len(rows), "hit")
    console.say(f"{told} in {answer.timings_ms['total']:.0f} ms. Read around one: kg show ID")
    _say_more(answer.next_cursor)


def _nothing(left_out: LeftOut, *, further: bool) -> str:
    """Why there is no hit."""
    if further:
        return "There are no more hits."
    if left_out.nearest is None or not left_out.below_similarity:
        return "Nothing was found. `kg ontologies` shows what there is to search."
    told = pluralize(left_out.below_similarity, "passage")
    return f"Nothing was similar enough: {told} left out, the nearest has {left_out.nearest:.2f}."


def _given(*notes: str | None) -> list[str]:
    return [each for each in notes if each]


def print_hybrid(answer: HybridHits, *, full: bool) -> None:
    """Print concepts and passages as tables, and what could not be done."""
    console.note(*(each.effect for each in answer.degraded), *_given(answer.note, answer.concepts_note))
    if answer.concepts:
        console.print_table(
            ["concept", "similarity", "passages"],
            [
                [
                    Text.assemble((each.label, "bold"), (f"\n{each.concept_id}\n", "dim")),
                    _similarity(each.similarity),
                    str(each.sources),
                ]
                for each in answer.concepts
            ],
        )
    rows = [_row_passages(at, hit, full=full, space=False) for at, hit in enumerate(answer.sources, start=1)]
    if rows:
        console.print_table(["#", "similarity", "passage"], rows)
    print_windows(answer.windows)
    found = f"{pluralize(len(answer.concepts), 'concept')} and {pluralize(len(rows), 'passage')}"
    told = f"{found} in {answer.timings_ms['total']:.0f} ms."
    console.say(f"{told} More of a concept: kg concept show ID; read around a passage: kg show ID")
    _say_more(answer.next_cursor)


def _say_more(cursor: str | None) -> None:
    if cursor is not None:
        console.say(f"There are more; the next ones: the same command with --cursor {cursor}")


def print_windows(windows: Sequence[ContextWindow]) -> None:
    """Print what to read, in the order of the best hits."""
    for each in windows:
        where = " > ".join([f"{each.ontology} / {each.document}", *each.heading])
        size = pluralize(each.tokens, "token")
        console.stdout().print(Text(f"{where}  {each.start}-{each.end}, {size}", style="bold"))
        console.stdout().print(Text(each.text.strip() + "\n"))


def print_context(context: SourceWindow) -> None:
    """Print paragraphs in reading order, the one asked for marked, and what did not fit."""
    console.note(*(each.effect for each in context.degraded))
    if context.sources:
        first = context.sources[0]
        console.stdout().print(Text(f"{first.ontology} / {first.document}", style="bold"))
    for place in context.sources:
        chosen = place.source_id == context.source_id
        style = "bold" if chosen else "dim"
        console.stdout().print(Text(f"\n{'>' if chosen else ' '} {_where(place)}", style="cyan"))
        console.stdout().print(Text(place.full_text.strip(), style=style))
    if context.left_out:
        given = f"{context.tokens} of {context.token_budget} tokens"
        console.say(f"\n{given}; {context.left_out} of the paragraphs around it did not fit.")


def _row_passages(number: int, hit: SourceHit, *, full: bool, space: bool) -> list[str | Text]:
    part = (hit.parent or hit.chunk) if full else hit.chunk  # the larger part is what is meant to be read
    marks = marks_in(hit, hit.matches, part.start, part.text)
    passage = mark(part.text, marks) if full else excerpt(part.text, marks)
    similarity = _similarity(hit.similarity)
    if space and hit.space:  # those of two models cannot be compared
        similarity += f"\n{hit.space}"
    below = Text(f"\n{hit.source_id}{_through(hit)}{_explain(hit)}{_copies(hit)}\n", style="dim")
    return [str(number), similarity, title_of(hit) + passage + below]


def _similarity(similarity: float | None) -> str:
    return "-" if similarity is None else f"{similarity:.2f}"


def _through(hit: SourceHit) -> str:
    return f"\nthrough: {', '.join(each.label for each in hit.through)}" if hit.through else ""


def _copies(hit: SourceHit) -> str:
    return f"\nalmost the same: {', '.join(hit.duplicates)}" if hit.duplicates else ""


def _explain(hit: SourceHit) -> str:
    """A line for each stage that had a say."""
    explanation = hit.explanation
    if explanation is None:
        return ""
    lines = [
        f"{part.lane}: {'not found, but measured' if part.rank is None else f'#{part.rank}'}, "
        f"score {part.score:.3g}, weight {part.weight:.3g}, adds {part.contribution:.3g} ({part.index})"
        for part in explanation.lanes
    ]
    lines.append(f"fused ({explanation.fusion}): #{explanation.fused_rank}, {explanation.fused_score:.3g}")
    if explanation.rerank_rank is not None:
        own = f"cross-encoder {explanation.rerank_score:.3g}"
        lines.append(f"reranked: #{explanation.rerank_rank}, {own} and the fused place give {hit.score:.3g}")
    if explanation.mmr_rank is not None:
        lines.append(f"diversified: #{explanation.mmr_rank}, value {explanation.mmr_score:.3g}")
    return "".join(f"\n  {line}" for line in lines)


def title_of(place: SourcePlace) -> Text:
    """A line that says where a source is."""
    name = f"{place.ontology} / {place.document}"
    date = date_of(place.metadata) if isinstance(place, DescribedPlace) else None
    dated = f"  {date}" if date else ""
    return Text.assemble((name, "bold"), "  ", (_where(place), "cyan"), (dated, "dim"), "\n")


def _where(place: SourcePlace) -> str:
    page = [] if place.page is None else [describe_pages(place.page, place.last_page)]
    if place.image is not None:
        page.append(f"picture of {place.image.width} x {place.image.height}")
    ocr = f" ({describe_ocr(place.ocr_confidence)})" if place.ocr else ""
    return " > ".join([*place.heading, *page, f"¶{place.paragraph}"]) + ocr


# Answers and augmentations as a person reads them.

SHOWN_CHARACTERS = 300


def print_statement(statement: Statement) -> None:
    """Print one as soon as it is there."""
    numbers = "".join(f"[{cited.number}]" for cited in statement.citations)
    console.stdout().print(Text.assemble(statement.text, " ", (numbers, "cyan"), "\n"))


def print_end(answer: Answered) -> None:
    """Print the places, and what there is to say besides."""
    for cited in answer.citations:
        console.stdout().print(_place(cited))
    console.note(*(each.effect for each in answer.degraded))
    counts = answer.counts
    if answer.reason is not None:
        console.say(f"No answer: {escape(answer.reason)}.")
    if counts.without_citation:
        console.note(_describe_left_out(counts.without_citation))
    told = f"{pluralize(counts.statements, 'statement')} from {pluralize(counts.shown, 'passage')}"
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{told} by {escape(answer.model)}, {took}. Read around one: kg show CITATION")


def _place(cited: Citation) -> Text:
    where = " > ".join([*cited.heading, f"¶{cited.paragraph}"])
    quote = " ".join(cited.quote.split())
    shown = quote if len(quote) <= SHOWN_CHARACTERS else f"{quote[:SHOWN_CHARACTERS]}…"
    return Text.assemble(
        (f"[{cited.number}] ", "cyan"),
        (f"{cited.ontology} / {cited.document}", "bold"),
        "  ",
        (where, "cyan"),
        f"\n    “{shown}”\n",
        (f"    {cited.citation}", "dim"),
    )


def _describe_left_out(count: int) -> str:
    were = "was" if count == 1 else "were"
    return (
        f"{pluralize(count, 'statement')} {were} left out: its quotes do not stand in the passages it names"
    )


def print_context_block(answer: Augmented) -> None:
    """Print the Markdown, to a program as it is; what there is to say besides goes to standard error."""
    sys.stdout.write(console.escape_text(answer.context) if sys.stdout.isatty() else answer.context)
    _say(answer)


def print_records(answer: Augmented) -> None:
    """Print the passages as a table."""
    if answer.records:
        rows = [_row(number, record) for number, record in enumerate(answer.records, start=1)]
        console.print_table(["#", "similarity", "pieces", "passage"], rows)
    _say(answer)


def _say(answer: Augmented) -> None:
    console.note(*(each.effect for each in answer.degraded), *answer.notes)
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


def _row(number: int, record: AugmentRecord) -> list[str | Text]:
    similarity = "-" if record.similarity is None else f"{record.similarity:.2f}"
    pieces = ", ".join(map(str, record.pieces))
    _, place = read_citation(record.citation)
    marks = marks_in(record, record.matches, place.start if place else record.start, record.text)
    return [
        str(number),
        similarity,
        pieces,
        title_of(record) + excerpt(record.text, marks) + Text(f"\n{record.citation}\n", style="dim"),
    ]


# A document as a person reads it.


def print_reading(part: DocumentReading) -> None:
    """Print paragraphs as they stand in the text, under what the document is, and how to go on."""
    console.note(*(each.effect for each in part.degraded))
    about = part.document
    known = [about.title if about.title != about.document else "", date_of(about.metadata) or ""]
    told = ", ".join([f"{about.ontology} / {about.document}", *(each for each in known if each)])
    console.stdout().print(Text(told + "\n", style="bold"))
    console.stdout().print(Text("".join(each.full_text for each in part.sources).rstrip()))
    if part.next is None:
        console.say(f"\nThat is the end of {pluralize(about.sources, 'paragraph')}.")
    else:
        name = f"{about.ontology}/{about.document}"
        left = f"{part.left} of {pluralize(about.sources, 'paragraph')} left"
        console.say(f"\n{left}. Read on: kg read {escape(shlex.quote(name))} --from {part.next}")


# Similar passages as a person reads them.

MAX_EDGES = 50
MAX_REPEATED = 5
MAX_EXCERPT = 60


def print_similar(answer: SimilarSources) -> None:
    """Print what is like a source as a table, and what could not be done."""
    console.note(*(each.effect for each in answer.degraded))
    if not answer.sources:
        console.say("Nothing that is like it was found.")
        return
    rows = [_row_similarities(number, each) for number, each in enumerate(answer.sources, start=1)]
    measure = "similarity" if answer.by == "vector" else "score"
    console.print_table(["#", measure, "passage"], rows)
    own = f"{answer.source.ontology} / {answer.source.document} ¶{answer.source.paragraph}"
    console.say(
        f"{len(rows)} like {escape(own)} in {answer.timings_ms['total']:.0f} ms. Read one: kg show ID"
    )


def print_documents(answer: SimilarDocuments) -> None:
    """Print what is like a document as a table, and what could not be done."""
    console.note(*(each.effect for each in answer.degraded))
    rows = [_document(number, each) for number, each in enumerate(answer.documents, start=1)]
    if rows:
        console.print_table(["#", "score", "document"], rows)
    compared = f"{answer.compared} of {answer.sources} passages compared"
    own = escape(f"{answer.ontology} / {answer.document}")
    _print_repeated(answer.repeated)
    console.say(f"{pluralize(len(rows), 'document')} like {own}; {compared}.")


def _document(number: int, each: SimilarDocument) -> list[str | Text]:
    pairs = [
        f"  ¶{pair.own.paragraph} - ¶{pair.other.paragraph}  {pair.similarity:.2f}"
        f"{'  almost the same' if pair.near_duplicate else ''}"
        for pair in each.pairs
    ]
    name = Text(f"{each.ontology} / {each.document}", style="bold")
    return [str(number), f"{each.score:.2f}", name + Text("\n" + "\n".join(pairs))]


def print_graph(graph: SourceGraph) -> None:
    """Print the pairs of a graph, the most similar first, and what it is made of."""
    console.note(*(each.effect for each in graph.degraded))
    nodes = {node.source_id: node for node in graph.nodes}
    rows = [_pair(edge, nodes[edge.a], nodes[edge.b]) for edge in graph.edges[:MAX_EDGES]]
    if rows:
        console.print_table(["similarity", "passages"], rows)
    if len(graph.edges) > MAX_EDGES:
        console.say(f"{len(graph.edges) - MAX_EDGES} more pairs: --json gives all.")
    _print_repeated(graph.repeated)
    alone = sum(not node.degree for node in graph.nodes)
    counts = [
        pluralize(len(nodes), "passage"),
        pluralize(len(graph.edges), "pair"),
        pluralize(len(graph.groups), "group of near-duplicates", "groups of near-duplicates"),
    ]
    console.say(f"{', '.join(counts)}; {alone} without a pair.")


def _print_repeated(repeated: Sequence[RepeatedText]) -> None:
    """Say what was set apart."""
    for each in repeated[:MAX_REPEATED]:
        text = escape(repr(each.text[:MAX_EXCERPT]))
        console.say(f"set apart, for {pluralize(each.documents, 'document')} repeat it: {text}")
    if (more := len(repeated) - MAX_REPEATED) > 0:
        console.say(f"{more} more such texts: --json gives all; --repeated compares them, too.")


def _row_similarities(number: int, each: SimilarSource) -> list[str | Text]:
    notes = ["says almost the same"] if each.near_duplicate else []
    notes += [f"almost the same: {d.ontology} / {d.document} ¶{d.paragraph}" for d in each.duplicates]
    told = Text("".join(f"\n{note}" for note in notes), style="yellow")
    text = excerpt(each.chunk.text)
    measure = each.score if each.similarity is None else each.similarity
    return [
        str(number),
        f"{measure:.2f}",
        title_of(each) + text + told + Text(f"\n{each.source_id}\n", style="dim"),
    ]


def _pair(edge: SourceEdge, a: SourceNode, b: SourceNode) -> list[str | Text]:
    same = Text("almost the same\n" if edge.near_duplicate else "", style="yellow")
    return [f"{edge.similarity:.2f}", _node(a) + _node(b) + same]


def _node(node: SourceNode) -> Text:
    return title_of(node).append(f"{node.source_id}\n", "dim")


# Subgraphs as a person reads them.

SUBGRAPH_MAX_EDGES = 50


def print_subgraph(answer: Subgraph) -> None:
    """Print what was left out, the nodes, the best first, and the edges with what proves them."""
    console.note(*(each.effect for each in answer.degraded))
    console.note(*_cuts(answer.steps))
    if answer.note:
        console.note(answer.note)
    names = {node.id: _name(node) for node in answer.nodes}
    if answer.nodes:
        rows = [[str(node.rank), node.kind, _node_subgraph(node, names)] for node in answer.nodes]
        console.print_table(["#", "kind", "node"], rows)
    for edge in answer.edges[:SUBGRAPH_MAX_EDGES]:
        console.stdout().print(_edge(edge, names))
    if len(answer.edges) > SUBGRAPH_MAX_EDGES:
        more = len(answer.edges) - SUBGRAPH_MAX_EDGES
        console.say(f"{pluralize(more, 'more edge', 'more edges')}: --json gives all.")
    steps = ", ".join(f"{each.step} {each.nodes}" for each in answer.steps)
    nodes, edges = pluralize(len(answer.nodes), "node"), pluralize(len(answer.edges), "edge")
    console.say(f"{nodes}, {edges} in {answer.timings_ms['total']:.0f} ms; nodes after each step: {steps}.")


def _cuts(steps: list[StepReport]) -> Iterator[str]:
    for step in steps:
        for cut in step.cut:
            yield f"step {step.number} ({step.step}): {cut.effect}"


def _name(node: AnyNode) -> str:
    if isinstance(node, SubgraphConcept):
        return node.concept.label
    if isinstance(node, SubgraphSource):
        return f"{node.source.document} ¶{node.source.paragraph}"
    return node.document.document


def _node_subgraph(node: AnyNode, names: dict[str, str]) -> Text:
    how = Text(f"\n{_reached(node.reached[0], names)}  {node.id}\n", style="dim")
    if isinstance(node, SubgraphConcept):
        about = f"\n{node.concept.description}" if node.concept.description else ""
        where = f"  ({node.concept.ontology}, {pluralize(node.concept.sources, 'source')})"
        return Text.assemble((node.concept.label, "bold"), where, about) + how
    if isinstance(node, SubgraphSource):
        return title_of(node.source) + excerpt(node.source.full_text) + how
    title = f"  {node.document.title}" if node.document.title else ""
    where = f"{node.document.ontology} / {node.document.document}"
    return Text.assemble((where, "bold"), title, f"  ({pluralize(node.document.sources, 'source')})") + how


def _reached(way: Reached, names: dict[str, str]) -> str:
    if way.along is None:
        return f"seed of step {way.step}"
    via = names.get(way.via or "", "a node that is left out")
    return f"{pluralize(way.hops, 'hop')} from a seed, along {way.along} from {via}"


def _edge(edge: SubgraphEdge, names: dict[str, str]) -> Text:
    told = pluralize(edge.sources, "source") if edge.kind == "related_to" else ""
    told += "" if edge.verified else "unverified: no quote proves it"
    line = Text.assemble((names[edge.subject], "bold"), f" {edge.type} ", (names[edge.object], "bold"))
    line.append(f"  {told}" if told else "", style="dim")
    for quote in edge.quotes:
        line.append_text(_quote(quote))
    return line


def _quote(each: EdgeQuote) -> Text:
    span = "" if each.start is None else f" {each.start}-{each.end}"
    said = f"“{each.quote}”" if each.quote else f"{each.statement} (no quote proves it)"
    place = f"{each.document} ¶{each.paragraph}{span}"
    return Text.assemble(f"\n  {said}", (f"  {place}  {each.source_id}", "dim"))
