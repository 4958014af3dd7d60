"""Nodes and edges to draw graphs in a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from kg_api.schemas.concepts import Concept, ConceptDetails, ConceptPaths
from kg_api.schemas.image_search import RelatedSource, RelatedThrough
from kg_api.schemas.search import CarriedConcept, DescribedPlace, Place
from kg_api.schemas.similarity import SourceEdge
from kg_api.web.ui.links import below
from kg_api.wording import pluralize

LABEL_CHARACTERS: Final = 40
MARKS: Final = re.compile(r"^#+ |[*`|]+|-{3,}", re.MULTILINE)
STRONGEST: Final = 10
"""Number of the strongest neighbours to draw."""
SHARED: Final = 6
"""Number of concepts to draw that a passage shares with its neighbours."""
Element = dict[str, str | int]
Drawing = dict[str, list[Element]]


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
    """Draw a passage, its strongest neighbours, the passages around it, and the concepts that they share."""
    strongest = elsewhere[:STRONGEST]
    around = [each for each in beside if abs(each.paragraph - centre.paragraph) <= 1]
    places = {each.source_id: each for each in (*around, *strongest)}
    carried = [(key, one) for key in places for one in concepts.get(key, ())]
    times = Counter(one.concept_id for _, one in carried)
    own = {
        each.concept_id: each.label
        for each in concepts.get(centre.source_id, ())
        if times[each.concept_id] > 1
    }
    shared = dict(sorted(own.items(), key=lambda each: -times[each[0]])[:SHARED])
    nodes = [_build_passage(each, each.source_id == centre.source_id, centre) for each in places.values()]
    nodes += [_build_node(key, label, "concept", "/ui/concepts") for key, label in shared.items()]
    edges = _connect_in_order(around)
    for each in strongest:
        is_linked = any(through.lane == "link" for through in each.through)
        edges.append(_build_edge(centre.source_id, each.source_id, "linked" if is_linked else "near"))
    edges += [_build_edge(key, one.concept_id, "names") for key, one in carried if one.concept_id in shared]
    return {"nodes": nodes, "edges": edges}


def draw_document(places: Sequence[Place], edges: Sequence[SourceEdge]) -> Drawing:
    """Draw the passages from a document in reading order, with edges to similar passages."""
    near = [_build_edge(each.a, each.b, "linked" if each.linked else "near") for each in edges]
    nodes = [_build_passage(each, is_centre=False, within=each) for each in places]
    return {"nodes": nodes, "edges": [*_connect_in_order(places), *near]}


def draw_related(concept: ConceptDetails) -> Drawing:
    own = concept.concept_id
    around = {
        each.concept.concept_id: each.concept for each in concept.related if each.concept.concept_id != own
    }
    steps = [
        (own, each.type, each.concept.concept_id)
        if each.outgoing
        else (each.concept.concept_id, each.type, own)
        for each in concept.related
    ]
    return _draw_concepts([concept, *around.values()], {own}, steps)


def draw_paths(found: ConceptPaths) -> Drawing:
    """Draw the paths between two concepts with shared parts only once."""
    concepts = {each.concept_id: each for path in found.paths for each in path.concepts}
    steps = [(each.subject, each.type, each.object) for path in found.paths for each in path.steps]
    return _draw_concepts(concepts.values(), {found.start.concept_id, found.end.concept_id}, steps)


def _draw_concepts(
    concepts: Iterable[Concept], centres: Collection[str], steps: Sequence[tuple[str, str, str]]
) -> Drawing:
    nodes = [
        _build_node(
            each.concept_id,
            each.label,
            "concept centre" if each.concept_id in centres else "concept",
            "/ui/concepts",
            sources=each.sources,
        )
        for each in concepts
    ]
    return {
        "nodes": nodes,
        "edges": [_build_edge(start, end, "says", label) for start, label, end in dict.fromkeys(steps)],
    }


def _build_passage(place: Place, is_centre: bool, within: Place) -> Element:
    """Get a passage to draw. The label is the heading, below the ontology and title if these differ."""
    is_elsewhere = place.document_id != within.document_id
    title = place.title if isinstance(place, DescribedPlace) and is_elsewhere else None
    name = " › ".join(dict.fromkeys(filter(None, (title, *place.heading[-1:])))) or place.full_text
    if place.ontology != within.ontology:
        name = f"{place.ontology} › {name}"
    kind = "passage centre" if is_centre else "passage"
    return _build_node(place.source_id, opening(name, LABEL_CHARACTERS), kind, "/ui/graph")


def _connect_in_order(places: Sequence[Place]) -> list[Element]:
    """List edges to connect passages in reading order."""
    follows = (pair for pair in pairwise(places) if pair[1].paragraph == pair[0].paragraph + 1)
    return [_build_edge(first.source_id, second.source_id, "next") for first, second in follows]


def _build_node(key: str, label: str, kind: str, path: str, sources: int = 1) -> Element:
    return {"id": key, "label": label, "kind": kind, "href": below(path, key), "sources": sources}


def _build_edge(source: str, target: str, kind: str, label: str = "") -> Element:
    return {
        "id": f"{source} {target} {kind} {label}",
        "source": source,
        "target": target,
        "kind": kind,
        "label": label,
    }


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
            return f"{pluralize(through.distance or 1, 'paragraph')} away in the same document"
