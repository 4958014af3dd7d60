"""A space's model, and what is known of it: when it was last seen to be the same, why it is left alone."""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Generic, Protocol, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.errors import (
    ConfigurationError,
    Conflict,
    EmbeddingFailed,
    EmbeddingUnavailable,
    KgError,
    OtherModel,
)
from kg_api.graph.client import Graph
from kg_api.graph.spaces import (
    Space,
    display_name,
    ensure_space,
    find_space,
    remember_calibration,
    remember_labels,
    remember_probe,
    sample_of_concepts,
)
from kg_api.normal_form import normalise_width
from kg_api.providers.embedding_port import IN_PROCESS, Embedder, embed_probed
from kg_api.schemas.spaces import SimilarityCalibration, SpaceIdentity

LEFT_ALONE_SECONDS = 5.0
"""After a failure questions go to full text at once for so long, instead of waiting for it each time."""
PROVEN_SECONDS = 5.0
"""How long a model elsewhere is taken to be the one that it was."""
Fault = EmbeddingUnavailable | EmbeddingFailed | ConfigurationError
FAULTS = (EmbeddingUnavailable, EmbeddingFailed, ConfigurationError)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a model is not used, since when and until when."""

    error: Fault
    at: float
    until: float

    def again(self) -> Fault:
        """The same error, for another thread: what is raised grows with each raising."""
        error = self.error
        if isinstance(error, EmbeddingUnavailable):
            return EmbeddingUnavailable(str(error), retry_after_seconds=error.retry_after_seconds)
        return type(error)(str(error))


class ModelWatch:
    """Thread-safe. Times are those of `time.monotonic`."""

    def __init__(self, *, lasting: bool, proven: bool = False) -> None:
        """Begin to watch.

        Args:
            lasting: whether the model cannot change, so that it need not be proven again.
            proven: whether it has just been seen to be the same.
        """
        self._lasting = lasting
        self._lock = threading.Lock()
        self._proven_at = time.monotonic() if proven else None
        self._failure: Failure | None = None
        self._changes = 0

    @property
    def lasting(self) -> bool:
        return self._lasting

    @property
    def changes(self) -> int:
        """How often it was found that another model answers."""
        return self._changes

    @property
    def failure(self) -> Failure | None:
        """Why the model is not used, as far as is known."""
        return self._failure

    @property
    def rests(self) -> Failure | None:
        """Why the model is not even asked at this moment."""
        failure = self._failure
        return failure if failure is not None and time.monotonic() < failure.until else None

    @property
    def is_due(self) -> bool:
        """Whether the model has to be proven before what it says is used."""
        proven_at = self._proven_at
        if proven_at is None:
            return True
        return not self._lasting and time.monotonic() - proven_at > PROVEN_SECONDS

    def proven(self, asked_at: float) -> None:
        """It answered its probe as ever, asked at a time; what has failed since is not forgotten."""
        with self._lock:
            if self._failure is None or self._failure.at <= asked_at:
                self._failure = None
                self._proven_at = asked_at

    def failed(self, error: Fault) -> None:
        """It is left alone for a while, and has to be proven when it is asked next."""
        asked = error.retry_after_seconds if isinstance(error, EmbeddingUnavailable) else None
        now = time.monotonic()
        with self._lock:
            self._failure = Failure(error, now, now + max(LEFT_ALONE_SECONDS, asked or 0))
            self._proven_at = None
            self._changes += isinstance(error, OtherModel)

    def doubted(self) -> None:
        """It has to be proven when it is asked next."""
        with self._lock:
            self._proven_at = None


class IdentifiedModel(Protocol):
    """What has an identity and can be closed."""

    @property
    def identity(self) -> SpaceIdentity:
        """What makes its vectors comparable."""
        ...

    def close(self) -> None:
        """It is not used any more."""
        ...


ModelT = TypeVar("ModelT", bound=IdentifiedModel)


class WatchedModel(Generic[ModelT]):
    """A space with its model, opened when it is first needed. Thread-safe."""

    def __init__(self, space: Space, open_model: Callable[[], ModelT], *, checked: bool = False) -> None:
        """`checked`: its model has just answered as it should."""
        self.space = space
        self._open_model = open_model
        self._embedder: ModelT | None = None
        self._opening = threading.Lock()
        self._watch = ModelWatch(lasting=space.identity.provider in IN_PROCESS, proven=checked)

    def embedder(self) -> ModelT:
        """The model itself, opened when it is first needed, and tried again when that failed.

        Raises:
            ConfigurationError: it cannot be opened, or is not the one that the space was made with.
            EmbeddingUnavailable: it cannot be had at the moment.
        """
        with self._opening:
            if self._embedder is None:
                self._embedder = self._open()
            return self._embedder

    def problem(self) -> str | None:
        """Why the model cannot be used, as far as it is known without a question to it."""
        if (told := self.trouble()) is not None:
            return told
        try:
            self.embedder()
        except FAULTS as error:
            self._leave_alone(error)
            return str(error)
        return None

    def trouble(self) -> str | None:
        """Why the model was not used when it was asked last."""
        failure = self._watch.failure
        return None if failure is None else str(failure.error)

    def close(self) -> None:
        if self._embedder is not None:
            self._embedder.close()

    def _open(self) -> ModelT:
        begun = time.perf_counter()
        try:
            embedder = self._open_model()
        except FAULTS:
            raise
        except KgError as error:  # a package that cannot be fetched at the moment
            raise EmbeddingUnavailable(str(error)) from error
        if embedder.identity != self.space.identity:
            embedder.close()
            of = " --modality image" if self.space.is_of_images else ""
            raise ConfigurationError(
                f"the space {self.space.slug!r} was made with "
                f"{display_name(self.space.identity)}, but here is "
                f"{display_name(embedder.identity)}: make a further space for it (kg admin spaces create{of})"
            )
        log.info("model opened", space=self.space.slug, seconds=round(time.perf_counter() - begun, 2))
        return embedder

    def _leave_alone(self, error: Fault) -> None:
        self._watch.failed(error)
        log.warning("model left alone", space=self.space.slug, error=type(error).__name__, reason=str(error))


# A text whose vector is known: it tells another model under the same name (SPEC D6). Pure.

PROBE_TEXT: Final = (
    "Where does the fox keep the seven red apples that it found behind the old mill in winter?"
)

MIN_COSINE: Final = 0.98
"""Providers' answers vary a little from call to call, and quantised weights from one processor to another;
two models differ by far more (docs/benchmarks.md)."""


def check_probe(space: Space, answered: NDArray[np.float32]) -> None:
    """Compare what the model answers to the probe text with what it answered when the space was made.

    Raises:
        OtherModel: it is another one.
    """
    if space.probe is None:
        return
    cosine = float(np.dot(space.probe.astype(np.float64), answered.astype(np.float64)))
    if cosine < MIN_COSINE:
        raise OtherModel(
            f"another model answers under the name of the space {space.slug!r} "
            f"({display_name(space.identity)}): "
            f"its probe text has the cosine {cosine:.3f} with what it was when the space was made, and at "
            f"least {MIN_COSINE} is the same model. Vectors of both cannot be compared. Let the old model "
            "answer again, or make a further space for the new one: kg admin spaces create"
        )


# What registries of spaces share: each is opened once a process, and anew when its model is another.

MAX_SPACES = 32
"""Each has an index of its own, and a local one its model in memory."""


class Opened(Protocol):
    space: Space

    def close(self) -> None: ...


OpenT = TypeVar("OpenT", bound=Opened)


class OpenSpaces(ABC, Generic[OpenT]):
    """Keeps spaces that were opened. Thread-safe."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._spaces: dict[str, OpenT] = {}
        self._lock = threading.Lock()

    def of(self, space: Space) -> OpenT:
        """An open space for one that was read; both of its slots have the same model."""
        kept = self._spaces.get(space.slug)
        if kept is not None and kept.space.fingerprint != space.fingerprint:
            self._forget(space.slug)  # it was dropped, and another made by its name
            kept = None
        return kept or self._keep(self._find(space.at("")))

    def close(self) -> None:
        for space in self._spaces.values():
            space.close()

    @abstractmethod
    def _find(self, space: Space) -> OpenT:
        """A space that is registered, with its model yet to be opened."""

    def _forget(self, slug: str) -> None:
        with self._lock:
            gone = self._spaces.pop(slug, None)
        if gone is not None:
            gone.close()

    def _keep(self, opened: OpenT) -> OpenT:
        with self._lock:
            return self._spaces.setdefault(opened.space.slug, opened)

    def _add(self, opened: OpenT) -> OpenT:
        """Keep one that was just registered, unless it is kept already: one of another model was dropped."""
        kept = self._spaces.get(opened.space.slug)
        if kept is not None and kept.space.fingerprint != opened.space.fingerprint:
            self._forget(opened.space.slug)
        kept = self._keep(opened)
        if kept is not opened:
            opened.close()
        return kept


def require_room(known: Mapping[str, Space], slug: str) -> None:
    """Refuse a further space where there are too many, or one of that name is going.

    Raises:
        Conflict: saying so.
    """
    if slug in known and known[slug].dropping:
        raise Conflict(f"the space {slug!r} is being removed; wait until it has gone")
    if len(known) >= MAX_SPACES and slug not in known:
        raise Conflict(f"there are {len(known)} spaces already; the maximum is {MAX_SPACES}")


def register_probed(graph: Graph, identity: SpaceIdentity, slug: str, probe: NDArray[np.float32]) -> Space:
    """Register a further space with what its model has answered to the probe, or find that it is there.

    Raises:
        Conflict: there is one of that name for another model.
        OtherModel: it answers differently than when the space was made.
    """
    space = ensure_space(graph, identity, slug)
    remember_probe(graph, space, probe)
    space = find_space(graph, slug)
    check_probe(space, probe)
    return space


# How far a model holds related and unrelated texts apart: cosines of two models have no common scale.
#
# Unrelated texts have a cosine near 0 in one model and 0.75 in another (DESIGN 7), and what fusion reads
# out of
# a difference depends on it. The same pairs are shown to every model once.

PAIRS: Final = (
    (
        "How do bees tell each other where food is?",
        (
            "A honey bee that comes home dances on the comb; the angle of the dance shows the "
            "direction of the flowers and its length the distance."
        ),
    ),
    (
        "Why is the sky blue?",
        (
            "Air scatters short waves of sunlight far more than long ones, so blue light reaches "
            "the eye from all sides."
        ),
    ),
    (
        "How long does a passport stay valid?",
        "Travel documents for adults are issued for ten years, those for children for five.",
    ),
    (
        "What should I do when a payment fails?",
        (
            "If the card was declined, check the number and the limit, then try again or choose "
            "another way to pay."
        ),
    ),
    (
        "Who painted the ceiling of the Sistine Chapel?",
        "Between 1508 and 1512 Michelangelo covered the vault of the chapel with scenes from Genesis.",
    ),
    (
        "How is bread dough made to rise?",
        "Yeast eats sugar in the flour and gives off gas, whose bubbles are held by the gluten.",
    ),
    (
        "When was the first railway opened?",
        "In 1825 the line from Stockton to Darlington carried passengers behind a steam engine.",
    ),
    (
        "How do I delete a row from a table in SQL?",
        "The statement DELETE FROM with a WHERE clause removes the records that meet its condition.",
    ),
    (
        "What are the side effects of aspirin?",
        "It can irritate the stomach and thin the blood, so bleeding may last longer.",
    ),
    (
        "How far is the moon from the earth?",
        "Our satellite circles at a mean distance of 384,400 kilometres.",
    ),
    (
        "Which rights does a tenant have?",
        "Whoever rents a flat may ask for repairs, and the landlord must give notice in writing.",
    ),
    (
        "How can a house be kept warm cheaply?",
        "Insulating the roof and sealing windows saves more heating than any new boiler.",
    ),
    (
        "Why did the Roman empire fall?",
        (
            "Invasions, civil wars and debased money weakened the western provinces until the last"
            " emperor was deposed in 476."
        ),
    ),
    (
        "What is a neural network?",
        (
            "Layers of simple units pass weighted sums through a function, and the weights are "
            "learned from examples."
        ),
    ),
    (
        "How do I look after a cactus?",
        "Give it much light, sandy soil and little water, none at all in winter.",
    ),
    (
        "How are goals counted in water polo?",
        "A point is scored when the ball has wholly crossed the line between the posts of the floating goal.",
    ),
)
"""Questions and their answers, of sixteen fields, sharing few words."""


def calibrate_similarity(embedder: Embedder) -> SimilarityCalibration:
    """The mean cosine of questions with their own answers, and with all other answers.

    Both sides are embedded as passages: one call, whatever the provider.

    Raises:
        EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: the model does not answer.
    """
    vectors = embedder.embed_passages([_fitting(embedder, text) for pair in PAIRS for text in pair])
    vectors = vectors.astype(np.float64)
    cosines = vectors[0::2] @ vectors[1::2].T
    own = cosines.diagonal()
    others = (cosines.sum(axis=1) - own) / (len(PAIRS) - 1)
    return SimilarityCalibration(related=float(own.mean()), unrelated=float(others.mean()))


def calibrate_labels(questions: NDArray[np.float32], vectors: NDArray[np.float32]) -> SimilarityCalibration:
    """The mean cosine of concepts' labels, asked for, with their own stored vectors and with all others'.

    Labels are short and of one subject, and their vectors crowd: those that have nothing to do with each
    other are nearer than passages are (adr/0029).

    Args:
        questions: the labels of the first of some concepts as questions, a row each.
        vectors: what is stored of all of them, a row each.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = questions.astype(np.float64) @ (vectors / np.maximum(lengths, 1e-12)).T
    own = cosines.diagonal()
    others = (cosines.sum() - own.sum()) / (cosines.size - len(own))
    return SimilarityCalibration(related=float(own.mean()), unrelated=float(others))


def _fitting(embedder: Embedder, text: str) -> str:
    """The beginning of a text that a model of very few tokens takes; the others take all."""
    return text[: embedder.spans(text)[0][1]]


# A space whose model can be asked: opened when needed, seen to be the same, left alone when down.

log = structlog.get_logger()

CALIBRATED_SECONDS = 300.0
"""How long to wait before a model is calibrated again when that failed."""
LABELS_LOOKED_SECONDS = 60.0
"""How often at most it is looked whether concepts are to be measured."""
LABELS_REST_SECONDS = 3600.0
"""How long that is left when there was nothing to measure: too few concepts, or measured already."""
LABELS_WALKED = 100_000
"""Concepts that are looked through for some with a vector."""
LABELS_HOURS = 24
"""After so long they are measured anew: there may be others."""
LABELS_SAMPLED = 200
LABELS_ASKED = 32
LABELS_NEEDED = 50
"""Of fewer concepts a mean says too little."""
QUESTIONS_KEPT = 2000
"""Vectors of questions that are remembered: 3 MB with the model that kg comes with, 25 with the widest."""


@dataclass(slots=True)
class KeptQuestion:
    """A question's vector, as soon as it is known: shape (dimensions,), length 1."""

    vector: NDArray[np.float32] | None = None


class OpenSpace(WatchedModel[Embedder]):
    """A space and its model. Thread-safe.

    What a model elsewhere answers is used only as long as it was seen lately to be the one that made the
    space's vectors: its probe text goes along in the same request, and is compared first.
    """

    def __init__(
        self, graph: Graph, space: Space, open_model: Callable[[], Embedder], *, checked: bool = False
    ) -> None:
        """`checked`: its model has just answered as it should."""
        super().__init__(space, open_model, checked=checked)
        self._graph = graph
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="probe")
        self._labels_looked_at = float("-inf")
        self._labels_wait = LABELS_LOOKED_SECONDS
        self._kept = lru_cache(QUESTIONS_KEPT)(_nothing_yet)
        self._looking = threading.Lock()
        self._calibrated_at = float("-inf")

    def check(self) -> None:
        """Ask the model for its probe text and compare; the first answer of all is kept.

        Raises:
            ConfigurationError: another model answers under the same name.
            EmbeddingUnavailable, EmbeddingFailed: it does not answer as it should.
        """
        try:
            self._prove([], query=True)
        except OtherModel as error:
            self._leave_alone(error)
            raise
        except FAULTS:
            self._watch.doubted()
            raise

    def assure(self) -> None:
        """As `check`, unless it was just seen that the model is the same."""
        if self._watch.is_due:
            self.check()

    def calibrate_soon(self) -> None:
        """Measure what the model's cosines mean, beside all else; until then the usual is taken."""
        self._calibrated_at = time.monotonic()
        self._begin(self._calibrate)

    def _calibrate(self) -> None:
        try:
            remember_calibration(self._graph, self.space, calibrate_similarity(self.embedder()))
            self.space = find_space(self._graph, self.space.slug)
        except KgError as error:  # tried again when the model has proven itself in a while
            log.warning("model not calibrated", space=self.space.slug, reason=str(error))

    def calibrate_labels_soon(self) -> None:
        """Measure what cosines of questions and concepts mean, beside all else, where it is due."""
        if time.monotonic() - self._labels_looked_at > self._labels_wait:
            self._labels_looked_at = time.monotonic()
            self._begin(self._calibrate_labels)

    def _calibrate_labels(self) -> None:
        try:
            labels, vectors = sample_of_concepts(
                self._graph, self.space, LABELS_SAMPLED, walked=LABELS_WALKED, hours=LABELS_HOURS
            )
            enough = len(labels) >= LABELS_NEEDED
            self._labels_wait = LABELS_LOOKED_SECONDS if enough else LABELS_REST_SECONDS
            if enough:
                questions = self._prove(labels[:LABELS_ASKED], query=True)
                remember_labels(self._graph, self.space, calibrate_labels(questions, vectors))
        except KgError as error:  # tried again in a minute
            if isinstance(error, OtherModel):
                self._leave_alone(error)
            log.warning("concepts not calibrated", space=self.space.slug, reason=str(error))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question; a model that just failed is not asked again for a few seconds.

        Models know digits and letters in their plain width: the question is embedded so.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: it cannot be embedded, or another model
                answers; the caller goes on with full text.
        """
        if failure := self._watch.rests:
            raise failure.again()
        try:
            return self._question(normalise_width(text))
        except FAULTS as error:
            self._leave_alone(error)
            raise

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed passages by a model that is seen to be the same by what it answers, or right after it.

        Raises:
            As `Embedder.embed_passages`; ConfigurationError also when another model answers.
        """
        identity = self.space.identity
        try:
            if self._watch.lasting or identity.query_prefix != identity.passage_prefix:
                vectors = self.embedder().embed_passages(texts)
                if self._watch.lasting:
                    self.assure()
                else:  # the probe is a question: as a passage it would have another vector
                    self.check()  # however lately it was proven: what is stored is kept for good
                return vectors
            return self._prove(texts, query=False)
        except OtherModel as error:
            self._leave_alone(error)
            raise
        except FAULTS:
            self._watch.doubted()
            raise

    def trouble(self) -> str | None:
        """Why the model was not used when it was asked last; it is soon asked again then, unless it rests."""
        failure = self._watch.failure
        if failure is None:
            return None
        if self._watch.rests is None and self._looking.acquire(blocking=False):
            self._begin(self._look)
        return str(failure.error)

    def close(self) -> None:
        self._asking.shutdown(cancel_futures=True)
        super().close()

    def _begin(self, work: Callable[[], None]) -> None:
        """Have something done beside all else, unless the space is closed, as one that was made anew is."""
        with contextlib.suppress(RuntimeError):
            self._asking.submit(work)

    def _look(self) -> None:
        try:
            self.check()
        except KgError as error:
            if isinstance(error, FAULTS):
                self._watch.failed(error)
        finally:
            self._looking.release()

    def _question(self, text: str) -> NDArray[np.float32]:
        changes = self._watch.changes
        if not self._watch.is_due:
            kept = self._kept(text, changes).vector
            vector = self._keep(text, changes, self.embedder().embed_query(text)) if kept is None else kept
            if self._watch.changes == changes:
                return vector  # else another question found out meanwhile that another model answers
        changes = self._watch.changes
        return self._keep(text, changes, self._prove([text], query=True)[0].copy())

    def _keep(self, text: str, changes: int, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        vector.setflags(write=False)
        self._kept(text, changes).vector = vector
        return vector

    def _prove(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        """Embed texts, and give them only when the probe beside them is answered as ever."""
        asked_at = time.monotonic()
        rows = embed_probed(self.embedder(), texts, PROBE_TEXT, query=query)
        if self.space.probe is None:
            remember_probe(self._graph, self.space, rows[-1])
            self.space = find_space(self._graph, self.space.slug)
        check_probe(self.space, rows[-1])
        self._watch.proven(asked_at)
        if self.space.calibration is None and asked_at - self._calibrated_at > CALIBRATED_SECONDS:
            self.calibrate_soon()
        return rows[:-1]


def _nothing_yet(text: str, changes: int) -> KeptQuestion:
    """A place for a question's vector, not for long where another model has answered since."""
    del text, changes  # what it is found by: that the model changed makes it another place
    return KeptQuestion()
