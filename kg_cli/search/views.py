"""Hits, answers, similar passages, images and subgraphs as a person reads them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.markup import escape
from rich.text import Text

from kg_api.errors import Conflict, InvalidInput
from kg_api.mcp.answers import read_citation
from kg_api.schemas.answers import Answered, Augmented, AugmentRecord, Citation, HybridHits, Statement
from kg_api.schemas.constructive import (
    AnyNode,
    EdgeQuote,
    Subgraph,
    SubgraphConcept,
    SubgraphEdge,
    SubgraphSource,
)
from kg_api.schemas.image_search import ImageHit, ImageHits, RelatedSource, RelatedSources, RelatedThrough
from kg_api.schemas.metadata import date_of
from kg_api.schemas.search import (
    ContextWindow,
    DescribedPlace,
    DocumentReading,
    ImagePage,
    LeftOut,
    Place,
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
    SourceNode,
)
from kg_api.schemas.vocabulary import ImageLane
from kg_api.wording import describe_ocr, describe_pages, pluralize
from kg_cli.terminal import console

MARKING_SHOWN_CHARACTERS = 500
LEAD_CHARACTERS = 120
"""How much is shown before the first word that matches."""
STYLE = "bold yellow"
QUOTE_CHARACTERS = 300
MAX_EDGES = 50
MAX_REPEATED = 5
MAX_EXCERPT = 60
MAX_WORDS = 200

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


# Passages and the places where they are.


def title_of(place: SourcePlace) -> Text:
    """A line that says where a source is."""
    date = date_of(place.metadata) if isinstance(place, DescribedPlace) else None
    name = (f"{place.ontology} / {place.document}", "bold")
    return Text.assemble(name, "  ", (_where(place), "cyan"), (f"  {date}" if date else "", "dim"), "\n")


def _where(place: SourcePlace) -> str:
    page = [] if place.page is None else [describe_pages(place.page, place.last_page)]
    if place.image is not None:
        page.append(f"picture of {place.image.width} x {place.image.height}")
    ocr = f" ({describe_ocr(place.ocr_confidence)})" if place.ocr else ""
    return " > ".join([*place.heading, *page, f"¶{place.paragraph}"]) + ocr


def _passage(place: SourcePlace, text: Text, identity: str, told: str = "") -> Text:
    """A passage below its title, with notes on it and its id on a line of its own, to be copied."""
    return title_of(place) + text + Text(told, "yellow") + Text(f"\n{identity}\n", "dim")


def _two_digits(similarity: float | None) -> str:
    return "-" if similarity is None else f"{similarity:.2f}"


def print_hits(answer: SourceHits, *, full: bool, further: bool = False) -> None:
    """Print the hits of a search as a table, and what could not be done.

    Args:
        answer: the page.
        full: whole passages, not only what matched.
        further: whether other pages were before.
    """
    console.note(*answer.degraded, answer.note)
    if not answer.sources:
        console.say(_nothing(answer.left_out, further=further))
        return
    several = len(answer.spaces) > 1
    rows = [_hit(hit, full=full, space=several) for hit in answer.sources]
    console.print_ranking(["similarity", "passage"], rows)
    print_windows(answer.windows)
    told = pluralize(len(rows), "hit")
    console.say(f"{told} in {answer.timings_ms['total']:.0f} ms. Read around one: kg show ID")
    _say_more(answer.next_cursor)


def _nothing(left_out: LeftOut, *, further: bool) -> str:
    if further:
        return "There are no more hits."
    if left_out.nearest is None or not left_out.below_similarity:
        return "Nothing was found. `kg ontologies` shows what there is to search."
    told = pluralize(left_out.below_similarity, "passage")
    return f"Nothing was similar enough: {told} left out, the nearest has {left_out.nearest:.2f}."


def print_hybrid(answer: HybridHits, *, full: bool) -> None:
    console.note(*answer.degraded, answer.note, answer.concepts_note)
    if answer.concepts:
        concepts = [
            (
                Text.assemble((each.label, "bold"), (f"\n{each.concept_id}\n", "dim")),
                _two_digits(each.similarity),
                str(each.sources),
            )
            for each in answer.concepts
        ]
        console.print_table(["concept", "similarity", "passages"], concepts)
    rows = [_hit(hit, full=full, space=False) for hit in answer.sources]
    console.print_ranking(["similarity", "passage"], rows)
    print_windows(answer.windows)
    found = f"{pluralize(len(answer.concepts), 'concept')} and {pluralize(len(rows), 'passage')}"
    told = f"{found} in {answer.timings_ms['total']:.0f} ms."
    console.say(f"{told} More of a concept: kg concept show ID; read around a passage: kg show ID")
    _say_more(answer.next_cursor)


def _say_more(cursor: str | None) -> None:
    if cursor is not None:
        console.say(f"There are more; the next ones: the same command with --cursor {cursor}")


def _hit(hit: SourceHit, *, full: bool, space: bool) -> tuple[str, Text]:
    part = (hit.parent or hit.chunk) if full else hit.chunk  # the larger part is what is meant to be read
    marks = marks_in(hit, hit.matches, part.start, part.text)
    passage = mark(part.text, marks) if full else excerpt(part.text, marks)
    similarity = _two_digits(hit.similarity)
    if space and hit.space:  # those of two models cannot be compared
        similarity += f"\n{hit.space}"
    told = [hit.source_id]
    if hit.through:
        told.append(f"through: {', '.join(each.label for each in hit.through)}")
    told += _explain(hit)
    if hit.duplicates:
        told.append(f"almost the same: {', '.join(hit.duplicates)}")
    return similarity, _passage(hit, passage, "\n".join(told))


def _explain(hit: SourceHit) -> Iterator[str]:
    """A line for each stage that had a say."""
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
    """Print what to read, in the order of the best hits."""
    for each in windows:
        where = " > ".join([f"{each.ontology} / {each.document}", *each.heading])
        size = pluralize(each.tokens, "token")
        console.stdout().print(Text(f"{where}  {each.start}-{each.end}, {size}", style="bold"))
        console.stdout().print(Text(each.text.strip() + "\n"))


def print_context(context: SourceWindow) -> None:
    """Print paragraphs in reading order, the one asked for marked, and what did not fit."""
    console.note(*context.degraded)
    if context.sources:
        first = context.sources[0]
        console.stdout().print(Text(f"{first.ontology} / {first.document}", style="bold"))
    for place in context.sources:
        chosen = place.source_id == context.source_id
        console.stdout().print(Text(f"\n{'>' if chosen else ' '} {_where(place)}", style="cyan"))
        console.stdout().print(Text(place.full_text.strip(), style="bold" if chosen else "dim"))
    if context.left_out:
        given = f"{context.tokens} of {context.token_budget} tokens"
        console.say(f"\n{given}; {context.left_out} of the paragraphs around it did not fit.")


def print_reading(part: DocumentReading) -> None:
    """Print paragraphs as they stand in the text, under what the document is, and how to go on."""
    console.note(*part.degraded)
    about = part.document
    name = f"{about.ontology} / {about.document}"
    known = [name, about.title if about.title != about.document else "", date_of(about.metadata) or ""]
    console.stdout().print(Text(", ".join(filter(None, known)) + "\n", style="bold"))
    console.stdout().print(Text("".join(each.full_text for each in part.sources).rstrip()))
    paragraphs = pluralize(about.sources, "paragraph")
    if part.next is None:
        console.say(f"\nThat is the end of {paragraphs}.")
    else:
        quoted = escape(shlex.quote(f"{about.ontology}/{about.document}"))
        console.say(f"\n{part.left} of {paragraphs} left. Read on: kg read {quoted} --from {part.next}")


# Answers and augmentations.


def print_statement(statement: Statement) -> None:
    """Print one as soon as it is there."""
    numbers = "".join(f"[{cited.number}]" for cited in statement.citations)
    console.stdout().print(Text.assemble(statement.text, " ", (numbers, "cyan"), "\n"))


def print_end(answer: Answered) -> None:
    """Print the places, and what there is to say besides."""
    for cited in answer.citations:
        console.stdout().print(_place(cited))
    console.note(*answer.degraded)
    counts = answer.counts
    if answer.reason is not None:
        console.say(f"No answer: {escape(answer.reason)}.")
    if count := counts.without_citation:
        were = f"{pluralize(count, 'statement')} {'was' if count == 1 else 'were'} left out"
        console.note(f"{were}: its quotes do not stand in the passages it names")
    told = f"{pluralize(counts.statements, 'statement')} from {pluralize(counts.shown, 'passage')}"
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{told} by {escape(answer.model)}, {took}. Read around one: kg show CITATION")


def _place(cited: Citation) -> Text:
    quote = " ".join(cited.quote.split())
    shown = quote if len(quote) <= QUOTE_CHARACTERS else f"{quote[:QUOTE_CHARACTERS]}…"
    return Text.assemble(
        (f"[{cited.number}] ", "cyan"),
        (f"{cited.ontology} / {cited.document}", "bold"),
        "  ",
        (" > ".join([*cited.heading, f"¶{cited.paragraph}"]), "cyan"),
        f"\n    “{shown}”\n",
        (f"    {cited.citation}", "dim"),
    )


def print_context_block(answer: Augmented) -> None:
    """Print the Markdown, to a program as it is; what there is to say besides goes to standard error."""
    sys.stdout.write(console.escape_text(answer.context) if sys.stdout.isatty() else answer.context)
    _say_augmented(answer)


def print_records(answer: Augmented) -> None:
    console.print_ranking(["similarity", "pieces", "passage"], map(_record, answer.records))
    _say_augmented(answer)


def _say_augmented(answer: Augmented) -> None:
    console.note(*answer.degraded, *answer.notes)
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


def _record(record: AugmentRecord) -> tuple[str, str, Text]:
    _, place = read_citation(record.citation)
    marks = marks_in(record, record.matches, place.start if place else record.start, record.text)
    passage = _passage(record, excerpt(record.text, marks), record.citation)
    return _two_digits(record.similarity), ", ".join(map(str, record.pieces)), passage


# Similar passages and documents.


def print_similar(answer: SimilarSources) -> None:
    console.note(*answer.degraded)
    if not answer.sources:
        console.say("Nothing that is like it was found.")
        return
    measure = "similarity" if answer.by == "vector" else "score"
    console.print_ranking([measure, "passage"], map(_similar, answer.sources))
    own = escape(f"{answer.source.ontology} / {answer.source.document} ¶{answer.source.paragraph}")
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{len(answer.sources)} like {own} in {took}. Read one: kg show ID")


def _similar(each: SimilarSource) -> tuple[str, Text]:
    told = "\nsays almost the same" if each.near_duplicate else ""
    for twin in each.duplicates:
        told += f"\nalmost the same: {twin.ontology} / {twin.document} ¶{twin.paragraph}"
    measure = each.score if each.similarity is None else each.similarity
    return f"{measure:.2f}", _passage(each, excerpt(each.chunk.text), each.source_id, told)


def print_documents(answer: SimilarDocuments) -> None:
    console.note(*answer.degraded)
    console.print_ranking(["score", "document"], map(_document, answer.documents))
    _say_repeated(answer.repeated)
    told = pluralize(len(answer.documents), "document")
    own = escape(f"{answer.ontology} / {answer.document}")
    console.say(f"{told} like {own}; {answer.compared} of {answer.sources} passages compared.")


def _document(each: SimilarDocument) -> tuple[str, Text]:
    pairs = [
        f"  ¶{pair.own.paragraph} - ¶{pair.other.paragraph}  {pair.similarity:.2f}"
        f"{'  almost the same' if pair.near_duplicate else ''}"
        for pair in each.pairs
    ]
    name = Text(f"{each.ontology} / {each.document}", style="bold")
    return f"{each.score:.2f}", name + Text("\n" + "\n".join(pairs))


def print_graph(graph: SourceGraph) -> None:
    """Print the pairs of a graph, the most similar first, and what it is made of."""
    console.note(*graph.degraded)
    nodes = {node.source_id: _node(node) for node in graph.nodes}
    rows = [
        (
            f"{edge.similarity:.2f}",
            nodes[edge.a]
            + nodes[edge.b]
            + Text("almost the same\n" if edge.near_duplicate else "", "yellow"),
        )
        for edge in graph.edges[:MAX_EDGES]
    ]
    if rows:
        console.print_table(["similarity", "passages"], rows)
    if len(graph.edges) > MAX_EDGES:
        console.say(f"{len(graph.edges) - MAX_EDGES} more pairs: --json gives all.")
    _say_repeated(graph.repeated)
    alone = sum(not node.degree for node in graph.nodes)
    made = f"{pluralize(len(nodes), 'passage')}, {pluralize(len(graph.edges), 'pair')}"
    groups = pluralize(len(graph.groups), "group of near-duplicates", "groups of near-duplicates")
    console.say(f"{made}, {groups}; {alone} without a pair.")


def _node(node: SourceNode) -> Text:
    return title_of(node).append(f"{node.source_id}\n", "dim")


def _say_repeated(repeated: Sequence[RepeatedText]) -> None:
    for each in repeated[:MAX_REPEATED]:
        text = escape(repr(each.text[:MAX_EXCERPT]))
        console.say(f"set apart, for {pluralize(each.documents, 'document')} repeat it: {text}")
    if (more := len(repeated) - MAX_REPEATED) > 0:
        console.say(f"{more} more such texts: --json gives all; --repeated compares them, too.")


# Images.

_LANES: dict[ImageLane, str] = {
    "picture_space": "what they show",
    "words": "their words",
    "concepts": "concepts",
    "perceptual_hash": "how they look",
}


def print_found(answer: ImageHits) -> None:
    console.note(*answer.degraded, answer.note)
    console.print_ranking(["picture"], map(_found, answer.images))
    by = f" by {', '.join(_LANES[each] for each in answer.by)}" if answer.by else ""
    save = " Save one: kg images save ID FILE" if answer.images else ""
    found = pluralize(len(answer.images), "picture")
    console.say(f"{found}{by} in {answer.timings_ms['total']:.0f} ms.{save}")


def _found(each: ImageHit) -> tuple[Text]:
    told = ""
    for way in each.through:
        lane = _LANES[way.lane]
        if way.lane == "words":  # vectors and full text both go by words
            lane += ", by meaning" if way.space else ", by full text"
        rank = "" if way.rank is None else f", {way.rank}."
        told += f"\n{lane}{rank}" + ("" if way.similarity is None else f" ({way.similarity:.2f})")
    told += "\nlooks nearly the same" if each.near_duplicate else ""
    return (_passage(each, excerpt(each.full_text), each.source_id, told),)


def print_related(answer: RelatedSources) -> None:
    console.note(*answer.degraded)
    noun = "picture" if answer.kinds == ["image"] else "passage"
    console.print_ranking([noun], map(_related, answer.sources))
    own = escape(f"{answer.source.ontology} / {answer.source.document} ¶{answer.source.paragraph}")
    took = f"{answer.timings_ms['total']:.0f} ms"
    console.say(f"{pluralize(len(answer.sources), noun)} for {own} in {took}.")


def _related(each: RelatedSource) -> tuple[Text]:
    told = "".join(f"\n{_through(way)}" for way in each.through)
    return (_passage(each, excerpt(each.full_text), each.source_id, told),)


def _through(way: RelatedThrough) -> str:
    measure = "" if way.similarity is None else f" ({way.similarity:.2f})"
    match way.lane:
        case "document":
            return f"{pluralize(way.distance or 0, 'paragraph')} away in its document"
        case "concepts":
            return f"concepts: {', '.join(each.label for each in way.concepts)}"
        case "words":
            return "near in words" + measure
        case "picture_space":
            return "the picture itself is near" + measure
        case "link":
            return "somebody linked them" + measure


def print_images(page: ImagePage) -> None:
    console.note(*page.notes)
    if page.images:
        console.print_table(["picture", "size"], [(_image(each), _size(each)) for each in page.images])
        console.say_rest(page, len(page.images), "picture")
    elif page.total:
        console.say(f"There are {page.total} here; none from {page.offset} on")
    elif not page.notes:
        console.say("There are no pictures here; `kg ingest` takes PNG, JPEG, WebP, GIF, TIFF and BMP.")


def _image(place: Place) -> Text:
    words = " ".join(place.full_text.split())[:MAX_WORDS]
    name = (f"{place.ontology} / {place.document}", "bold")
    return Text.assemble(name, f"\n{words}", (f"\n{place.source_id}\n", "dim"))


def _size(place: Place) -> str:
    image = place.image
    if image is None:
        return ""
    kind = image.content_type.removeprefix("image/")
    return f"{image.width} x {image.height}\n{kind}, {max(1, image.bytes // 1000):,} kB"


def print_image(place: Place) -> None:
    """Print what is known of one.

    Raises:
        InvalidInput: it is a passage of text.
    """
    if place.image is None:
        raise InvalidInput(
            f"{place.source_id} is a passage of text, not a picture: kg show {place.source_id}"
        )
    rows = [
        ("picture", f"{place.ontology} / {place.document}"),
        ("id", place.source_id),
        ("kind", place.image.content_type),
        ("size", _size(place)),
        ("storage key", place.image.storage_key),
        ("perceptual hash", place.image.perceptual_hash),
    ]
    console.print_table(["", ""], rows)
    console.stdout().print(Text(place.full_text.strip()))


def write_file(content: bytes, to: Path, *, force: bool) -> None:
    """Write a picture where it is wanted.

    Raises:
        Conflict: there is a file of that name.
        InvalidInput: it cannot be written.
    """
    if to == console.STDIN:
        sys.stdout.buffer.write(content)
        return
    try:
        with to.open("wb" if force else "xb") as file:
            file.write(content)
    except FileExistsError:
        raise Conflict(f"{to} is there already: --force overwrites it") from None
    except OSError as error:
        raise InvalidInput(f"{to} cannot be written: {error.strerror or error}") from None
    console.say(escape(f"{to}: {len(content):,} bytes"))


# Subgraphs.


def print_subgraph(answer: Subgraph) -> None:
    """Print what was left out, the nodes, the best first, and the edges with what proves them."""
    console.note(*answer.degraded)
    for step in answer.steps:
        console.note(*(f"step {step.number} ({step.step}): {cut.effect}" for cut in step.cut))
    console.note(answer.note)
    names = {node.id: _name(node) for node in answer.nodes}
    if answer.nodes:
        rows = [(str(node.rank), node.kind, _node_subgraph(node, names)) for node in answer.nodes]
        console.print_table(["#", "kind", "node"], rows)
    for edge in answer.edges[:MAX_EDGES]:
        console.stdout().print(_edge(edge, names))
    if (more := len(answer.edges) - MAX_EDGES) > 0:
        console.say(f"{pluralize(more, 'more edge', 'more edges')}: --json gives all.")
    steps = ", ".join(f"{each.step} {each.nodes}" for each in answer.steps)
    nodes, edges = pluralize(len(answer.nodes), "node"), pluralize(len(answer.edges), "edge")
    console.say(f"{nodes}, {edges} in {answer.timings_ms['total']:.0f} ms; nodes after each step: {steps}.")


def _name(node: AnyNode) -> str:
    if isinstance(node, SubgraphConcept):
        return node.concept.label
    if isinstance(node, SubgraphSource):
        return f"{node.source.document} ¶{node.source.paragraph}"
    return node.document.document


def _node_subgraph(node: AnyNode, names: dict[str, str]) -> Text:
    way = node.reached[0]
    if way.along is None:
        reached = f"seed of step {way.step}"
    else:
        via = names.get(way.via or "", "a node that is left out")
        reached = f"{pluralize(way.hops, 'hop')} from a seed, along {way.along} from {via}"
    how = Text(f"\n{reached}  {node.id}\n", style="dim")
    if isinstance(node, SubgraphConcept):
        about = f"\n{node.concept.description}" if node.concept.description else ""
        where = f"  ({node.concept.ontology}, {pluralize(node.concept.sources, 'source')})"
        return Text.assemble((node.concept.label, "bold"), where, about) + how
    if isinstance(node, SubgraphSource):
        return title_of(node.source) + excerpt(node.source.full_text) + how
    title = f"  {node.document.title}" if node.document.title else ""
    where = f"{node.document.ontology} / {node.document.document}"
    return Text.assemble((where, "bold"), title, f"  ({pluralize(node.document.sources, 'source')})") + how


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
