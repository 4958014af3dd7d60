"""Similar passages as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.text import Text

from kg_api.models.queries.similarity import (
    RepeatedText,
    SimilarDocument,
    SimilarDocuments,
    SimilarSource,
    SimilarSources,
    SourceEdge,
    SourceGraph,
    SourceNode,
)
from kg_api.wording.plural import pluralize
from kg_cli.search.views.marking import excerpt
from kg_cli.search.views.passages import title_of
from kg_cli.terminal import console

MAX_EDGES = 50
MAX_REPEATED = 5
MAX_EXCERPT = 60


def print_similar(answer: SimilarSources) -> None:
    """Print what is like a source as a table, and what could not be done."""
    console.note(*(each.effect for each in answer.degraded))
    if not answer.sources:
        console.say("Nothing that is like it was found.")
        return
    rows = [_row(number, each) for number, each in enumerate(answer.sources, start=1)]
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


def _row(number: int, each: SimilarSource) -> list[str | Text]:
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
