"""Nodes and edges to draw graphs in a page, as lists of texts and numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from kg_api.schemas.concepts import Concept, ConceptDetails, ConceptPaths
from kg_api.schemas.image_search import RelatedSource, RelatedThrough
from kg_api.schemas.search import CarriedConcept, DescribedPlace, Place
from kg_api.schemas.similarity import SourceEdge
from kg_api.web.ui.links import below

LABEL_CHARACTERS: Final = 40
MARKS: Final = re.compile(r"^#+ |[*`|]+|-{3,}", re.MULTILINE)
MAX_NAMED: Final = 10
"""Number of the strongest neighbours to label."""
Row = tuple[str | int | bool, ...]
Drawing = tuple[list[Row], list[Row]]


def opening(text: str, characters: int) -> str:
    """Get the first words from a text on one line. Markdown is removed."""
    line = " ".join(MARKS.sub(" ", text).split())
    if len(line) <= characters:
        return line
    cut = line[: characters + 1]
    return f"{cut.rpartition(' ')[0] or cut[:-1]} …"


def draw_neighbourhood(
    centre: Place,
    beside: Sequence[Place],
    elsewhere: Sequence[RelatedSource],
    concepts: Mapping[str, Sequence[CarriedConcept]],
) -> Drawing:
    """Draw a passage, its neighbours, its concepts, and concepts that several passages share."""
    places = list({each.source_id: each for each in (*beside, *elsewhere)}.values())
    carried = [(each.source_id, one) for each in places for one in concepts.get(each.source_id, ())]
    times = Counter(one.concept_id for _, one in carried)
    own = {each.concept_id for each in concepts.get(centre.source_id, ())}
    named = {one.concept_id: one for _, one in carried if one.concept_id in own or times[one.concept_id] > 1}
    strongest = {centre.source_id, *(each.source_id for each in elsewhere[:MAX_NAMED])}
    nodes: list[Row] = [
        _passage(
            each,
            "centre" if each.source_id == centre.source_id else "passage",
            is_named=each.source_id in strongest,
            within=centre.document_id,
        )
        for each in places
    ]
    nodes += [(key, each.label, "concept", below("/ui/concepts", key), False) for key, each in named.items()]
    edges: list[Row] = _in_order(beside)
    for each in elsewhere:
        is_linked = any(through.lane == "link" for through in each.through)
        edges.append((centre.source_id, each.source_id, "linked" if is_linked else "near"))
    edges += [(source, one.concept_id, "names") for source, one in carried if one.concept_id in named]
    return nodes, edges


def draw_document(places: Sequence[Place], edges: Sequence[SourceEdge]) -> Drawing:
    """Draw the passages from a document in reading order, with edges to similar passages."""
    near = [(each.a, each.b, "linked" if each.linked else "near") for each in edges]
    is_small = len(places) <= MAX_NAMED
    return [_passage(each, "passage", is_named=is_small, within=each.document_id) for each in places], [
        *_in_order(places),
        *near,
    ]


def _passage(place: Place, shape: str, *, is_named: bool, within: str | None = None) -> Row:
    """Get a passage to draw. The label is the heading, and the title if it is in another document."""
    title = place.title if isinstance(place, DescribedPlace) and place.document_id != within else None
    name = " › ".join(dict.fromkeys(filter(None, (title, *place.heading[-1:])))) or place.full_text
    return (
        place.source_id,
        opening(name, LABEL_CHARACTERS),
        shape,
        below("/ui/graph", place.source_id),
        is_named,
    )


def _in_order(places: Sequence[Place]) -> list[Row]:
    """List edges to connect passages in reading order."""
    follows = (pair for pair in pairwise(places) if pair[1].paragraph == pair[0].paragraph + 1)
    return [(first.source_id, second.source_id, "next") for first, second in follows]


def describe_ties(source: RelatedSource) -> list[str]:
    """Describe how a source is related to a passage."""
    return [tie for each in source.through if (tie := _describe_tie(each))]


def _describe_tie(through: RelatedThrough) -> str:
    near = "" if through.similarity is None else f", similarity {through.similarity:.2f}"
    match through.lane:
        case "link":
            return f"accepted link{near}"
        case "words":
            return f"similar text{near}"
        case "picture_space":
            return f"similar image{near}"
        case "concepts":
            labels = ", ".join(each.label for each in through.concepts)
            return f"shares {labels}" if labels else ""
        case "document":
            return f"{through.distance} paragraphs away in the same document"


def draw_related(concept: ConceptDetails) -> Drawing:
    own = concept.concept_id
    around = {each.concept.concept_id: each.concept for each in concept.related}
    around.pop(own, None)
    steps: list[Row] = []
    for each in concept.related:
        other = each.concept.concept_id
        steps.append((own, each.type, other) if each.outgoing else (other, each.type, own))
    nodes = [_concept(concept, is_end=True), *(_concept(each, is_end=False) for each in around.values())]
    return nodes, list(dict.fromkeys(steps))


def draw_paths(found: ConceptPaths) -> Drawing:
    """Draw the paths between two concepts with shared parts only once."""
    ends = {found.start.concept_id, found.end.concept_id}
    concepts = {each.concept_id: each for path in found.paths for each in path.concepts}
    steps: list[Row] = [(each.subject, each.type, each.object) for path in found.paths for each in path.steps]
    nodes = [_concept(each, is_end=key in ends) for key, each in concepts.items()]
    return nodes, list(dict.fromkeys(steps))


def _concept(concept: Concept, *, is_end: bool) -> Row:
    return concept.concept_id, concept.label, concept.sources, is_end
