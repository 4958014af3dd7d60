"""Subgraphs as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kg_api.models.constructive.subgraph import (
    AnyNode,
    EdgeQuote,
    Reached,
    StepReport,
    Subgraph,
    SubgraphConcept,
    SubgraphEdge,
    SubgraphSource,
)
from kg_api.models.queries.places import SourcePlace
from kg_api.wording.plural import pluralize
from kg_cli.search.views.marking import excerpt
from kg_cli.search.views.passages import title_of
from kg_cli.terminal import console

MAX_EDGES = 50


def print_subgraph(answer: Subgraph) -> None:
    """Print what was left out, the nodes, the best first, and the edges with what proves them."""
    console.note(*(each.effect for each in answer.degraded))
    console.note(*_cuts(answer.steps))
    if answer.note:
        console.note(answer.note)
    names = {node.id: _name(node) for node in answer.nodes}
    if answer.nodes:
        rows = [[str(node.rank), node.kind, _node(node, names)] for node in answer.nodes]
        console.print_table(["#", "kind", "node"], rows)
    for edge in answer.edges[:MAX_EDGES]:
        console.stdout().print(_edge(edge, names))
    if len(answer.edges) > MAX_EDGES:
        console.say(
            f"{pluralize(len(answer.edges) - MAX_EDGES, 'more edge', 'more edges')}: --json gives all."
        )
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
        return _place(node.source)
    return node.document.document


def _place(place: SourcePlace) -> str:
    return f"{place.document} ¶{place.paragraph}"


def _node(node: AnyNode, names: dict[str, str]) -> Text:
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
