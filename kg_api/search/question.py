"""The vectors of a question: in text spaces, in image spaces, and of hypothetical answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError, Conflict, InvalidInput, LlmFailed, LlmUnavailable, OtherModel
from kg_api.graph.client import Graph
from kg_api.graph.images import having_images
from kg_api.graph.search import Filters
from kg_api.graph.spaces import Space
from kg_api.providers.chat import Ask, LanguageModel, hypothetical_answers
from kg_api.schemas.answers import Threshold
from kg_api.schemas.search import Degradation, SourceSearch
from kg_api.search.scope import Scope
from kg_api.spaces.images import ImageSpaceRegistry, group_by_space
from kg_api.spaces.open_spaces import FAULTS, OpenSpace
from kg_api.spaces.snapshot import OntologySnapshot, Snapshots
from kg_api.text.cutting import words

# HyDE: a question is searched for by answers that a language model imagines, besides itself.

log = structlog.get_logger()

AUTO_WORDS = 12
"""From so many words on a question is taken as a long one, with `auto`."""
AUTO_ANSWERS = 3
LEFT_ALONE_SECONDS = 5.0
"""A language model that failed is not asked again for so long: searches go on without at once."""


class Hyde:
    """Asks for hypothetical answers. Thread-safe."""

    def __init__(self, ask: Ask | None = None) -> None:
        """`ask`: a language model; None: there is none."""
        self._ask = ask or LanguageModel(None).ask
        self._down: tuple[float, str] | None = None
        """Until when, and why."""

    def generate(self, request: SourceSearch) -> tuple[list[str], str | None]:
        """Get as many answers as a request wants; or none, and why."""
        count, question = count_wanted(request), request.query_text
        if count == 0 or question is None:
            return [], None
        down = self._down
        if down is not None and time.monotonic() < down[0]:
            return [], down[1]
        try:
            return hypothetical_answers(self._ask, question, count), None
        except (InvalidInput, LlmFailed) as error:
            return [], str(error)
        except (ConfigurationError, LlmUnavailable) as error:
            asked = error.retry_after_seconds if isinstance(error, LlmUnavailable) else None
            self._down = time.monotonic() + max(LEFT_ALONE_SECONDS, asked or 0), str(error)
            log.warning("no hypothetical answers", error=type(error).__name__, reason=str(error))
            return [], str(error)


def count_wanted(request: SourceSearch) -> int:
    """How many answers a request wants; `auto` wants some for a long question."""
    if request.hyde != "auto":
        return request.hyde
    by_words_alone = request.mode == "text" or request.query_vector is not None
    long = words(request.query_text or "") >= AUTO_WORDS
    return AUTO_ANSWERS if long and not by_words_alone else 0


def average_vectors(
    question: NDArray[np.float32], texts: Sequence[str], opened: OpenSpace
) -> tuple[NDArray[np.float32], str | None]:
    """The mean of a question's vector and its hypothetical answers', as Gao et al. have it, of length 1.

    Args:
        question: its vector, shape (dimensions,), length 1.
        texts: the answers; they are embedded as passages, cut where the model takes less.
        opened: the space.

    Raises:
        OtherModel: another model answers in this space.

    Returns:
        The vector; that of the question, and why, where the answers cannot be embedded.
    """
    if not texts:
        return question, None
    try:
        embedder = opened.embedder()
        cut = [text[: embedder.spans(text)[0][1]] for text in texts]
        vectors = opened.embed_passages([text for text in cut if text.strip()])
    except OtherModel:  # the question's vector may be of that model too
        raise
    except (*FAULTS, InvalidInput) as error:
        return question, str(error)
    mean = np.vstack([question, vectors]).astype(np.float64).mean(axis=0)
    length = float(np.linalg.norm(mean))
    return (mean / length).astype(np.float32) if length > 0 else question, None


# The question's vectors in spaces of pictures whose models read text: words find what pictures show.


@dataclass(frozen=True, slots=True)
class PictureVector:
    """A question's vector in one space of pictures, or why there is none."""

    space: Space
    ontologies: Sequence[str]
    """Those whose pictures it answers for."""
    vector: NDArray[np.float32] | None = None
    """Shape (dimensions,), length 1."""
    fault: str | None = None
    """Why there is none."""

    @property
    def degradation(self) -> Degradation | None:
        if self.fault is None:
            return None
        where = f"the space of pictures {self.space.slug!r}"
        effect = f"{where} was not searched ({self.fault}): its pictures are found by their words only"
        return Degradation(part="embedding", effect=effect)


class PictureQuestions:
    """Embeds questions for pictures, where there are any and a model reads text; else it does nothing."""

    def __init__(self, graph: Graph, images: ImageSpaceRegistry | None, snapshots: Snapshots) -> None:
        self._graph = graph
        self._images = images
        self._snapshots = snapshots

    def spaces(
        self, request: SourceSearch, known: OntologySnapshot, scope: Scope, filters: Filters
    ) -> list[tuple[Space, list[str]]]:
        """The spaces that words can be looked for in, with their ontologies."""
        if self._images is None or not request.query_text or request.mode == "text":
            return []
        return [] if filters.image is False else self.reading(scope.names, known)

    def reading(self, names: Sequence[str], known: OntologySnapshot) -> list[tuple[Space, list[str]]]:
        """The spaces of some ontologies' pictures whose models read text, with the ontologies."""
        answering = known.image_spaces
        reading = [name for name in names if name in answering and reads_text(answering[name])]
        return group_by_space(having_images(self._graph, reading) if reading else (), answering)

    def embed(self, text: str, spaces: Sequence[tuple[Space, list[str]]]) -> list[PictureVector]:
        """The vector of a question in each of some spaces."""
        images, found = self._images, list[PictureVector]()
        if images is None:
            return found
        for space, names in spaces:
            vector, fault = None, None
            if waiting := self._snapshots.populating(space.image_index_name):
                fault = f"the index {space.image_index_name} is {waiting[space.image_index_name]}"
            else:
                try:
                    vector = images.of(space).embed_query(text)
                except (*FAULTS, InvalidInput) as error:
                    fault = str(error)
            found.append(PictureVector(space, names, vector, fault))
        return found


def reads_text(space: Space) -> bool:
    """Whether a space's model has a text tower; told by its identity, so that no model is opened for it."""
    return space.identity.max_tokens > 0


# The vectors of a question, one for each space: given by the client or embedded here.
#
# Where there is none, search falls back to words.


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question's vector in one space, or why there is none."""

    space: Space
    vector: NDArray[np.float32] | None
    """Shape (dimensions,), length 1."""
    usable: bool
    """Whether the vector lane can be asked with it."""
    waiting: Sequence[str] = ()
    """The indexes for which it cannot: they are not online."""
    hypothetical: Sequence[str] = ()
    """The hypothetical answers that are in the vector."""
    hyde_fault: str | None = None
    """Why hypothetical answers are not in it."""
    fault: str | None = None
    """Why the question could not be embedded."""


def query_vector(
    request: SourceSearch, opened: OpenSpace, waiting: Sequence[str], hypothetical: Sequence[str] = ()
) -> QueryVector:
    """Get the vector of a request in one space.

    Args:
        request: the question.
        opened: the space.
        waiting: those of the indexes to be asked with the vector that are not online.
        hypothetical: answers to be searched by besides the question.

    Raises:
        InvalidInput: the client's vector has another size than the space's vectors.
    """
    space = opened.space
    if request.query_vector is not None:
        values = request.query_vector
        if len(values) != space.dimensions:
            raise InvalidInput(
                f"query_vector has {len(values)} dimensions; the space {space.slug!r} has {space.dimensions}"
            )
        exact = np.asarray(values, dtype=np.float64)
        exact /= np.abs(exact).max()  # so that the squares of very large and very small numbers can be summed
        given = (exact / np.linalg.norm(exact)).astype(np.float32)
        if request.mode == "text":
            return QueryVector(space, given, usable=False)
        return QueryVector(space, given, usable=not waiting, waiting=waiting)
    if request.mode == "text":
        return QueryVector(space, None, usable=False)
    try:
        vector, unanswered = average_vectors(
            opened.embed_query(request.query_text or ""), hypothetical, opened
        )
    except (*FAULTS, InvalidInput) as error:  # a provider may refuse what is a fine question to full text
        return QueryVector(space, None, usable=False, fault=str(error))
    answers = () if unanswered else hypothetical
    return QueryVector(space, vector, not waiting, waiting, answers, hyde_fault=unanswered)


def require_space(request: SourceSearch, slugs: Sequence[str]) -> None:
    """Refuse a client's vector of a space that is not searched.

    Raises:
        Conflict: saying which spaces are.
    """
    if request.query_vector is not None and request.space not in slugs:
        raise Conflict(
            f"query_vector is of the space {request.space!r}, but this search uses "
            f"{', '.join(map(repr, slugs))}; vectors of two spaces cannot be compared"
        )


# What is similar enough to be a hit. Pure.


@dataclass(frozen=True, slots=True)
class SimilarityFilter:
    """The least similarity of hits, by the space that they are measured in."""

    least: Mapping[str, float] = field(default_factory=dict[str, float])
    """By the slug of a space; where it is missing, nothing is left out."""
    keep_unmeasured: bool = True
    """Whether hits are kept where the question has no vector: nobody can say how similar they are."""
    keep_carried: bool = False
    """Whether what concepts brought is kept whatever its similarity, beside a hit that is similar enough."""


def filter_by(thresholds: Mapping[str, Threshold], *, keep_carried: bool = False) -> SimilarityFilter:
    """The filter for what is shown to a language model, which reads no notes.

    So nothing passes a number that somebody asked for without being measured.

    Args:
        thresholds: by the slug of a space.
        keep_carried: whether to keep what concepts brought beside a hit that is similar enough.
    """
    least = {slug: each.min_similarity for slug, each in thresholds.items()}
    return SimilarityFilter(
        {slug: value for slug, value in least.items() if value is not None},
        keep_unmeasured=not any(each.source == "request" for each in thresholds.values()),
        keep_carried=keep_carried,
    )
