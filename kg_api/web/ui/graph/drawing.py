"""From what REST answers to the nodes and edges that a page draws. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from kg_api.models.pictures.related import RelatedSource, RelatedThrough
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import CarriedConcept
from kg_api.models.queries.similarity import SourceEdge
from kg_api.web.ui.links import CONCEPTS, GRAPH, below
from kg_api.web.ui.passages import opening

NodeShape = Literal["centre", "passage", "concept"]
EdgeShape = Literal["next", "near", "linked", "names"]
Concepts = Mapping[str, Sequence[CarriedConcept]]
"""By source."""

LABEL: Final = 40
"""Characters."""


class DrawnNode(NamedTuple):
    """A passage or a concept in a picture."""

    key: str
    label: str
    shape: NodeShape
    href: str
    """Where a click leads."""


class DrawnEdge(NamedTuple):
    """What ties two of them."""

    first: str
    second: str
    shape: EdgeShape


class DrawnGraph(NamedTuple):
    nodes: list[DrawnNode]
    edges: list[DrawnEdge]


def draw_around(
    centre: Place, beside: Sequence[Place], elsewhere: Sequence[RelatedSource], concepts: Concepts
) -> DrawnGraph:
    """A passage in the middle of what it stands near to.

    Args:
        centre: the passage.
        beside: paragraphs of its document, itself among them, in reading order.
        elsewhere: what goes with it.
        concepts: of all of them; its own are drawn, and those that several passages name.
    """
    places = list({each.source_id: each for each in (*beside, *elsewhere)}.values())
    nodes = [passage_node(each, is_centre=each.source_id == centre.source_id) for each in places]
    named, names = _draw_concepts(centre.source_id, [each.source_id for each in places], concepts)
    near = [DrawnEdge(centre.source_id, each.source_id, _shape(each)) for each in elsewhere]
    return DrawnGraph([*nodes, *named], [*in_order(beside), *near, *names])


def draw_document(places: Sequence[Place], edges: Sequence[SourceEdge]) -> DrawnGraph:
    """The passages of a document in reading order, and which are near to each other."""
    near = [DrawnEdge(each.a, each.b, "linked" if each.linked else "near") for each in edges]
    return DrawnGraph([passage_node(each) for each in places], [*in_order(places), *near])


def passage_node(place: Place, *, is_centre: bool = False) -> DrawnNode:
    shape = "centre" if is_centre else "passage"
    return DrawnNode(place.source_id, opening(place.full_text, LABEL), shape, below(GRAPH, place.source_id))


def in_order(places: Sequence[Place]) -> list[DrawnEdge]:
    """From each to the one behind it, where none is left out between them."""
    follows = (pair for pair in pairwise(places) if pair[1].paragraph == pair[0].paragraph + 1)
    return [DrawnEdge(first.source_id, second.source_id, "next") for first, second in follows]


def is_elsewhere(source: RelatedSource) -> bool:
    """Whether it goes with the passage for more than that it stands in the same document."""
    return any(each.lane != "document" for each in source.through)


def ties(source: RelatedSource) -> list[str]:
    """Why it goes with the passage, each in a few words."""
    return [told for each in source.through if (told := _tie(each))]


def _tie(through: RelatedThrough) -> str:
    near = "" if through.similarity is None else f", similarity {through.similarity:.2f}"
    match through.lane:
        case "link":
            return f"somebody linked the two{near}"
        case "words":
            return f"says something like it{near}"
        case "picture_space":
            return f"looks like it{near}"
        case "concepts":
            return (
                f"is about {', '.join(each.label for each in through.concepts)}" if through.concepts else ""
            )
        case "document":
            return f"{through.distance} away in the same document"


def _shape(source: RelatedSource) -> EdgeShape:
    return "linked" if any(each.lane == "link" for each in source.through) else "near"


def _draw_concepts(
    centre: str, source_ids: Iterable[str], concepts: Concepts
) -> tuple[list[DrawnNode], list[DrawnEdge]]:
    carried = [(each, concept) for each in source_ids for concept in concepts.get(each, ())]
    times = Counter(concept.concept_id for _, concept in carried)
    own = {each.concept_id for each in concepts.get(centre, ())}
    shown = {one.concept_id: one for _, one in carried if one.concept_id in own or times[one.concept_id] > 1}
    nodes = [DrawnNode(key, each.label, "concept", below(CONCEPTS, key)) for key, each in shown.items()]
    edges = [DrawnEdge(each, one.concept_id, "names") for each, one in carried if one.concept_id in shown]
    return nodes, edges
