"""Query vectors to use in text spaces and image spaces, and for hypothetical answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError, Conflict, InvalidInput, LlmFailed, LlmUnavailable, OtherModel
from kg_api.graph.client import Graph
from kg_api.graph.images import list_ontologies_with_images
from kg_api.graph.search import Filters
from kg_api.graph.spaces import Space
from kg_api.providers.chat import Ask, write_hypothetical_answers
from kg_api.providers.openai_chat import Chat
from kg_api.schemas.answers import Threshold
from kg_api.schemas.search import Degradation, SourceSearch
from kg_api.search.scope import Scope
from kg_api.spaces.images import ImageSpaceRegistry, group_by_space
from kg_api.spaces.open_spaces import FAULTS, OpenSpace
from kg_api.spaces.snapshot import OntologySnapshot, Snapshots
from kg_api.text.cutting import count_words

# HyDE: search with hypothetical answers of a language model in addition to the question

log = structlog.get_logger()

AUTO_WORDS = 12  # minimum words of a long question in `auto` mode
AUTO_ANSWERS = 3
OPEN_SECONDS = 5.0
"""Pause before the language model is used again after it has failed. You can still search."""


class Hyde:
    """Writes hypothetical answers. Thread-safe."""

    def __init__(self, ask: Ask | None = None) -> None:
        """Use `ask` to call the language model. None: there is none."""
        self._ask = ask or Chat(None).ask
        self._down: tuple[float, str] | None = None  # end of the pause, and the reason

    def generate(self, request: SourceSearch) -> tuple[list[str], str | None]:
        """Write the answers that are requested. If this is not possible, get the reason."""
        count, question = count_wanted(request), request.query_text
        if count == 0 or question is None:
            return [], None
        down = self._down
        if down is not None and time.monotonic() < down[0]:
            return [], down[1]
        try:
            return write_hypothetical_answers(self._ask, question, count), None
        except (InvalidInput, LlmFailed) as error:
            return [], str(error)
        except (ConfigurationError, LlmUnavailable) as error:
            asked = error.retry_after_seconds if isinstance(error, LlmUnavailable) else None
            self._down = time.monotonic() + max(OPEN_SECONDS, asked or 0), str(error)
            log.warning("no hypothetical answers", error=type(error).__name__, reason=str(error))
            return [], str(error)


def describe_missing_answers(
    request: SourceSearch, written: Sequence[str], fault: str | None
) -> Iterator[Degradation]:
    """Describe hypothetical answers that the request wants, but that the language model did not write."""
    if fault is not None:
        effect = f"no hypothetical answers ({fault}): kg searched with the question only"
        yield Degradation(part="hyde", effect=effect)
    elif len(written) < (wanted := count_wanted(request)):
        effect = f"the language model wrote {len(written)} instead of {wanted} hypothetical answers"
        yield Degradation(part="hyde", effect=effect)


def count_wanted(request: SourceSearch) -> int:
    """Choose how many answers to write. `auto` is used for long questions."""
    if request.hyde != "auto":
        return request.hyde
    by_words_alone = request.mode == "text" or request.query_vector is not None
    long = count_words(request.query_text or "") >= AUTO_WORDS
    return AUTO_ANSWERS if long and not by_words_alone else 0


def average_vectors(
    question: NDArray[np.float32], texts: Sequence[str], opened: OpenSpace
) -> tuple[NDArray[np.float32], str | None]:
    """Compute the mean from the question's vector and its hypothetical answers (Gao et al.).

    Answers are embedded as passages and truncated to the model's limit. Vectors have the shape (dimensions,)
    and length 1.

    Raises:
        OtherModel: The provider now uses another model.

    Returns:
        The mean and None, or the question's vector and the reason if embedding fails.
    """
    if not texts:
        return question, None
    try:
        embedder = opened.get_embedder()
        cut = [text[: embedder.spans(text)[0][1]] for text in texts]
        vectors = opened.embed_passages([text for text in cut if text.strip()])
    except OtherModel:  # the question's vector may come from that model as well
        raise
    except (*FAULTS, InvalidInput) as error:
        return question, str(error)
    mean = np.vstack([question, vectors]).astype(np.float64).mean(axis=0)
    length = float(np.linalg.norm(mean))
    return (mean / length).astype(np.float32) if length > 0 else question, None


# Query vectors for image spaces whose model embeds text


@dataclass(frozen=True, slots=True)
class PictureVector:
    """Query vector to use in an image space, or the reason if there is none."""

    space: Space
    ontologies: Sequence[str]  # ontologies in this space
    vector: NDArray[np.float32] | None = None  # shape (dimensions,), length 1
    fault: str | None = None  # reason for a missing vector

    @property
    def degradation(self) -> Degradation | None:
        if self.fault is None:
            return None
        where = f"the image space {self.space.slug!r}"
        effect = f"{where} was not searched ({self.fault}): kg found its images only by their text"
        return Degradation(part="embedding", effect=effect)


class PictureQuestions:
    """Embeds questions to find images, if there are images and a model that can embed text."""

    def __init__(self, graph: Graph, images: ImageSpaceRegistry | None, snapshots: Snapshots) -> None:
        self._graph = graph
        self._images = images
        self._snapshots = snapshots

    def list_spaces(
        self, request: SourceSearch, known: OntologySnapshot, scope: Scope, filters: Filters
    ) -> list[tuple[Space, list[str]]]:
        """List the image spaces that can be searched, with their ontologies."""
        if self._images is None or not request.query_text or request.mode == "text":
            return []
        return [] if filters.image is False else self.list_text_spaces(scope.names, known)

    def list_text_spaces(
        self, names: Sequence[str], known: OntologySnapshot
    ) -> list[tuple[Space, list[str]]]:
        """List image spaces that have a model to embed text, with their ontologies."""
        answering = known.image_spaces
        reading = [name for name in names if name in answering and reads_text(answering[name])]
        return group_by_space(list_ontologies_with_images(self._graph, reading) if reading else (), answering)

    def embed(self, text: str, space: Space, names: list[str]) -> PictureVector:
        vector, fault = None, None
        if waiting := self._snapshots.read_populating(space.image_index_name):
            fault = f"the index {space.image_index_name} is {waiting[space.image_index_name]}"
        elif self._images is not None:
            try:
                vector = self._images.get_open(space).embed_query(text)
            except (*FAULTS, InvalidInput) as error:
                fault = str(error)
        return PictureVector(space, names, vector, fault)


def reads_text(space: Space) -> bool:
    """Check if the model can embed text. To see this, you do not need to load it."""
    return space.identity.max_tokens > 0


# Query vectors: from the client, or embedded by kg
#
# Without a query vector, search uses full text only.


@dataclass(frozen=True, slots=True)
class QueryVector:
    """Query vector to use in a space, or the reason if there is none."""

    space: Space
    vector: NDArray[np.float32] | None  # shape (dimensions,), length 1
    usable: bool  # usable by the vector retriever
    waiting: Sequence[str] = ()  # required indexes that are not online
    hypothetical: Sequence[str] = ()  # answers included in the vector
    hyde_fault: str | None = None  # reason for missing answers
    fault: str | None = None  # reason for a missing vector


def query_vector(
    request: SourceSearch, opened: OpenSpace, waiting: Sequence[str], hypothetical: Sequence[str] = ()
) -> QueryVector:
    """Get the query vector to use in a space.

    `waiting` contains the required indexes that are not online. `hypothetical` contains answers to include.

    Raises:
        InvalidInput: The client's vector has the wrong dimensions.
    """
    space = opened.space
    if request.query_vector is not None:
        values = request.query_vector
        if len(values) != space.dimensions:
            raise InvalidInput(
                f"query_vector has {len(values)} dimensions, but the space {space.slug!r} has "
                f"{space.dimensions}"
            )
        exact = np.asarray(values, dtype=np.float64)
        exact /= np.abs(exact).max()  # prevents overflow and underflow of the squares
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
    except (*FAULTS, InvalidInput) as error:  # a provider may reject a question that full text accepts
        return QueryVector(space, None, usable=False, fault=str(error))
    answers = () if unanswered else hypothetical
    return QueryVector(space, vector, not waiting, waiting, answers, hyde_fault=unanswered)


def require_space(request: SourceSearch, slugs: Sequence[str]) -> None:
    """Reject a vector from a client if its space is not searched.

    Raises:
        Conflict: The message lists the searched spaces.
    """
    if request.query_vector is not None and request.space not in slugs:
        raise Conflict(
            f"query_vector belongs to the space {request.space!r}, but this search uses "
            f"{', '.join(map(repr, slugs))}. Vectors of two spaces cannot be compared"
        )


# Similarity thresholds


@dataclass(frozen=True, slots=True)
class SimilarityFilter:
    """Minimum similarity that hits need in each space."""

    least: Mapping[str, float] = field(default_factory=dict[str, float])
    """Threshold by space slug. If a space is missing, there is no threshold."""
    keep_unmeasured: bool = True
    """Keep hits if there is no vector to measure their similarity."""
    keep_carried: bool = False
    """Keep hits from concepts below the threshold if there is another hit that reaches it."""


def build_similarity_filter(
    thresholds: Mapping[str, Threshold], *, keep_carried: bool = False
) -> SimilarityFilter:
    """Build the filter to choose passages for a prompt.

    A language model reads no notes, so no unmeasured hit passes a threshold from the request.

    Args:
        thresholds: By space slug.
        keep_carried: Keep concept hits if another hit reaches the threshold.
    """
    least = {slug: each.min_similarity for slug, each in thresholds.items()}
    return SimilarityFilter(
        {slug: value for slug, value in least.items() if value is not None},
        keep_unmeasured=not any(each.source == "request" for each in thresholds.values()),
        keep_carried=keep_carried,
    )
