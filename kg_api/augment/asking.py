"""Searching for the pieces, and what that could not do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kg_api.augment.plan import Piece
from kg_api.augment.scope import AugmentScope
from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.spaces.registry import Space
from kg_api.models.queries.augment import AugmentDegradation, AugmentRequest
from kg_api.models.queries.search import Degradation, SourceHits, SourceSearch
from kg_api.models.vocabulary import MAX_LIMIT, MAX_QUERY_CHARACTERS
from kg_api.search.plan.similarity import SimilarityFilter
from kg_api.spaces.model_watch import FAULTS
from kg_api.spaces.registry import SpaceRegistry

SPARE = 4
"""So many times the hits that are kept are asked for, so that it is told how many are beyond them."""

_NUMBER = re.compile(r"\d+")
Search = Callable[[SourceSearch, SimilarityFilter], SourceHits]


@dataclass(frozen=True, slots=True)
class PieceResults:
    """What the searches for a piece gave: one, or one a space for a whole text too long for a query."""

    piece: Piece
    answers: list[SourceHits]
    degraded: list[Degradation] = field(default_factory=list[Degradation])

    @property
    def degradations(self) -> list[tuple[int, Degradation]]:
        """What could not be done, with the piece's number."""
        effects = [*self.degraded, *(each for answer in self.answers for each in answer.degraded)]
        return [(self.piece.number, each) for each in effects]


@dataclass(frozen=True, slots=True)
class Asking:
    """How the pieces of one request are searched for."""

    request: AugmentRequest
    where: AugmentScope
    spaces: SpaceRegistry
    search: Search

    def ask(self, piece: Piece) -> PieceResults:
        """Search for a piece.

        Raises:
            InvalidInput: the filters name too many documents.
            Unavailable: no lane that was asked for can answer.
        """
        if len(piece.text) <= MAX_QUERY_CHARACTERS or self.request.mode == "text":
            return PieceResults(piece, [self._search(piece, ontology=self.request.ontology)])
        told = [self._by_vector(piece, space) for space in self.where.spaces]
        return PieceResults(
            piece,
            [each for each in told if isinstance(each, SourceHits)],
            [each for each in told if isinstance(each, Degradation)],
        )

    def _by_vector(self, piece: Piece, space: Space) -> SourceHits | Degradation:
        """A text too long for a query: its vector is, and full text gets as much as it uses."""
        try:
            vector = [float(value) for value in self.spaces.of(space).embed_query(piece.text)]
            names = self.request.ontology if len(self.where.spaces) == 1 else self.where.ontologies(space)
            return self._search(piece, ontology=names, query_vector=vector, space=space.slug)
        except (*FAULTS, InvalidInput, Conflict) as error:  # Conflict: another space answers since a moment
            effect = f"the whole text could not be searched for by meaning ({error}): only its pieces were"
            return Degradation(part="embedding", effect=effect)

    def _search(self, piece: Piece, **more: Any) -> SourceHits:
        request = self.request
        search = SourceSearch(
            query_text=piece.text[:MAX_QUERY_CHARACTERS],
            documents=request.documents,
            where=request.where,
            mode=request.mode,
            limit=min(MAX_LIMIT, request.per_piece * SPARE),
            per_document=request.per_document or None,
            mmr_lambda=request.mmr_lambda,
            exact=request.exact,
            **more,
        )
        return self.search(search, self.where.similar)


def together(told: Iterable[tuple[int, Degradation]]) -> list[AugmentDegradation]:
    """Join what was told of pieces, by their numbers; numbers within an effect make no difference."""
    first: dict[tuple[str, str], tuple[Degradation, list[int]]] = {}
    for piece, each in told:
        key = (each.part, _NUMBER.sub("#", each.effect))
        pieces = first.setdefault(key, (each, []))[1]
        if piece not in pieces:
            pieces.append(piece)
    return [
        AugmentDegradation(part=each.part, effect=each.effect, pieces=pieces)
        for each, pieces in first.values()
    ]
