"""What pictures show, against what passages say: where a model reads both."""

from __future__ import annotations

from collections.abc import Iterator

from kg_api.graph.database import Graph
from kg_api.graph.readiness import IndexWatch
from kg_api.graph.search.passages import LaneHit
from kg_api.graph.search.pictures import NearestPictures
from kg_api.graph.search.similar import vectors_in
from kg_api.models.queries.search import Degradation
from kg_api.search.plan.picture_vectors import PictureQuestions, PictureVector
from kg_api.similarity.related.lanes import Found, RelatedQuery, by_similarity, near_vectors
from kg_api.similarity.scope import comparable
from kg_api.spaces.images.registry import ImageSpaceRegistry
from kg_api.spaces.images.sharing import group_by_space, is_one_space
from kg_api.spaces.plans import OntologySnapshot


class SeenLane:
    """Compares vectors of pictures and of passages."""

    def __init__(self, graph: Graph, images: ImageSpaceRegistry | None) -> None:
        self._graph = graph
        self._indexes = IndexWatch(graph)
        self._questions = PictureQuestions(graph, images, self._indexes)

    def find(self, asked: RelatedQuery, known: OntologySnapshot, told: list[Degradation]) -> list[Found]:
        """Pictures like a picture; and where a model reads both, passages near to it, or pictures to one."""
        wanted = asked.within.image
        if asked.own.kind == "image":
            alike = [self._alike(asked, known)] if wanted is not False else []
            return alike if wanted else [*alike, self._passages(asked, known)]
        return [] if wanted is False else [self._pictures(asked, known, told)]

    def _alike(self, asked: RelatedQuery, known: OntologySnapshot) -> Found:
        """Pictures that a picture looks like, where theirs have vectors of the same space."""
        own, spaces = asked.own, known.image_spaces
        space = spaces.get(own.ontology)
        if space is None or self._indexes.populating(space.image_index_name):
            return {}
        groups = group_by_space(known.there(asked.within.ontologies), spaces)
        names = next((names for each, names in groups if each.slug == space.slug), list[str]())
        parts = vectors_in(self._graph, own.source_id, space)
        questions = [PictureVector(space, names, part.vector) for part in parts]
        near = [hit for each in questions for hit in self._near(asked, each)]
        return by_similarity(asked, near, "picture_space")

    def _passages(self, asked: RelatedQuery, known: OntologySnapshot) -> Found:
        """By the picture's own vector, where passages have vectors of the same space."""
        own, space = asked.own, known.image_spaces.get(asked.own.ontology)
        if space is None:
            return {}
        parts = vectors_in(self._graph, own.source_id, space)
        texts = {each.slug: each for each in known.answering.values()}
        one = [each for each in texts.values() if is_one_space(space.identity, each.identity)]
        slots = [slot for each in one for slot in comparable(each, asked.within.ontologies, known).slots]
        there = [(each, names) for each, names in slots if not self._indexes.populating(each.index_name)]
        return near_vectors(self._graph, asked, parts, there, "picture_space")

    def _pictures(self, asked: RelatedQuery, known: OntologySnapshot, told: list[Degradation]) -> Found:
        """By the passage's text."""
        spaces = self._questions.reading(known.there(asked.within.ontologies), known)
        questions = self._questions.embed(asked.own.full_text, spaces)
        told += [each.degradation for each in questions if each.degradation is not None]
        near = [hit for each in questions for hit in self._near(asked, each)]
        return by_similarity(asked, near, "picture_space")

    def _near(self, asked: RelatedQuery, question: PictureVector) -> Iterator[tuple[str, LaneHit]]:
        if question.vector is None:
            return
        nearest = NearestPictures(
            question.vector,
            question.space,
            question.ontologies,
            asked.within.document_ids,
            asked.depth + 1,  # a picture may find itself
            sources=asked.within.sources,
        )
        (rows,) = self._graph.look_up([nearest.lookup])
        for hit in nearest.hits(self._graph, rows).found:
            yield question.space.slug, hit._replace(similarity=hit.score)
