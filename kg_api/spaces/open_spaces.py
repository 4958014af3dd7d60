"""Open models of spaces, verification of their identity, and circuit breakers."""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
import structlog
from cachetools import LRUCache
from numpy.typing import NDArray

from kg_api.errors import (
    ConfigurationError,
    Conflict,
    EmbeddingFailed,
    EmbeddingUnavailable,
    InvalidInput,
    KgError,
    OtherModel,
)
from kg_api.graph.client import Graph
from kg_api.graph.reach import limit_visible_ontologies
from kg_api.graph.spaces import (
    Space,
    ensure_space,
    find_space,
    format_model_name,
    read_sample_concepts,
    read_spaces,
    store_calibration,
    store_label_calibration,
    store_probe,
)
from kg_api.normal_form import normalise_width
from kg_api.providers.embedding_port import IN_PROCESS, Embedder, embed_probed
from kg_api.schemas.spaces import ModelChoice, NewSpace, SimilarityCalibration, SpaceIdentity
from kg_api.schemas.vocabulary import Modality

log = structlog.get_logger()

OPEN_SECONDS = 5.0  # pause after a failure, during which queries immediately use full-text search only
PROVEN_SECONDS = 5.0  # time for which a verified remote model is trusted
MAX_SPACES = 32  # each has its own index, and a local space keeps its model in memory
Fault = EmbeddingUnavailable | EmbeddingFailed | ConfigurationError
FAULTS = (EmbeddingUnavailable, EmbeddingFailed, ConfigurationError)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of a model, in times of `time.monotonic`."""

    error: Fault
    at: float
    until: float

    def copy(self) -> Fault:
        """Return a copy for another thread, because the traceback of an error grows with each `raise`."""
        error = self.error
        if isinstance(error, EmbeddingUnavailable):
            return EmbeddingUnavailable(str(error), retry_after_seconds=error.retry_after_seconds)
        return type(error)(str(error))


class CircuitBreaker:
    """Pauses a model after a failure and requires a new verification. Thread-safe."""

    def __init__(self, *, lasting: bool, proven: bool) -> None:
        self.lasting = lasting
        self.failure: Failure | None = None
        self.changes = 0  # number of detected model changes
        self._lock = threading.Lock()
        self._proven_at = time.monotonic() if proven else None

    @property
    def open_failure(self) -> Failure | None:
        """The failure that currently blocks requests to the model."""
        failure = self.failure
        return failure if failure is not None and time.monotonic() < failure.until else None

    @property
    def is_due(self) -> bool:
        """True if the model must be verified before its vectors are used."""
        proven_at = self._proven_at
        if proven_at is None:
            return True
        return not self.lasting and time.monotonic() - proven_at > PROVEN_SECONDS

    def record_probe(self, asked_at: float) -> None:
        """Record a successful probe sent at `asked_at`. A later failure remains."""
        with self._lock:
            if self.failure is None or self.failure.at <= asked_at:
                self.failure = None
                self._proven_at = asked_at

    def record_failure(self, error: Fault) -> None:
        """Pause the model and require a verification afterwards."""
        retry_after = error.retry_after_seconds if isinstance(error, EmbeddingUnavailable) else None
        now = time.monotonic()
        with self._lock:
            self.failure = Failure(error, now, now + max(OPEN_SECONDS, retry_after or 0))
            self._proven_at = None
            self.changes += isinstance(error, OtherModel)

    def require_probe(self) -> None:
        """Require a verification before the next use."""
        with self._lock:
            self._proven_at = None


class IdentifiedModel(Protocol):
    @property
    def identity(self) -> SpaceIdentity: ...

    def close(self) -> None: ...


ModelT = TypeVar("ModelT", bound=IdentifiedModel)


class WatchedModel(ABC, Generic[ModelT]):
    """A space with its model, opened at first use. Thread-safe."""

    # A recent probe must show that a remote model still matches the space's vectors. The probe is a
    # fixed text or drawn image.

    def __init__(
        self, graph: Graph, space: Space, open_model: Callable[[], ModelT], *, checked: bool = False
    ) -> None:
        """`checked`: the model has just answered its probe correctly."""
        self.space = space
        self._graph = graph
        self._open_model = open_model
        self._embedder: ModelT | None = None
        self._opening = threading.Lock()
        self._breaker = CircuitBreaker(lasting=space.identity.provider in IN_PROCESS, proven=checked)

    @staticmethod
    @abstractmethod
    def answer_probe(embedder: Any) -> NDArray[np.float32]:
        """Return a model's vector for the probe, shape (dimensions,)."""

    @abstractmethod
    def check(self) -> None:
        """Send the probe to the model and compare the vectors. The first vector is stored."""

    def ensure_verified(self) -> None:
        if self._breaker.is_due:
            self.check()

    def get_embedder(self) -> ModelT:
        """Return the model. If opening failed, retry."""
        with self._opening:
            if self._embedder is None:
                self._embedder = self._open()
            return self._embedder

    def find_problem(self) -> str | None:
        """Return why the model is unusable, without an embedding request."""
        if (message := self.get_last_failure()) is not None:
            return message
        try:
            self.get_embedder()
        except FAULTS as error:
            self._open_circuit(error)
            return str(error)
        return None

    def get_last_failure(self) -> str | None:
        """Return the last failure of the model."""
        failure = self._breaker.failure
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
        except KgError as error:  # for example a package that cannot be downloaded now
            raise EmbeddingUnavailable(str(error)) from error
        if embedder.identity != self.space.identity:
            embedder.close()
            of = " --modality image" if self.space.is_of_images else ""
            raise ConfigurationError(
                f"the space {self.space.slug!r} uses {format_model_name(self.space.identity)}, but this "
                f"process has {format_model_name(embedder.identity)}. Add another space for that model (kg "
                f"admin spaces create{of})"
            )
        log.info("model opened", space=self.space.slug, seconds=round(time.perf_counter() - begun, 2))
        return embedder

    def _compare(self, answered: NDArray[np.float32], asked_at: float) -> None:
        """Compare a probe vector with the stored one, or store the first one."""
        if self.space.probe is None:
            store_probe(self._graph, self.space, answered)
            self.space = find_space(self._graph, self.space.slug)
        check_probe(self.space, answered)
        self._breaker.record_probe(asked_at)

    def _open_circuit(self, error: Fault) -> None:
        self._breaker.record_failure(error)
        log.warning(
            "circuit open: no requests to the model",
            space=self.space.slug,
            error=type(error).__name__,
            reason=str(error),
        )


OpenT = TypeVar("OpenT", bound=WatchedModel[Any])
EmbedderT = TypeVar("EmbedderT", bound=IdentifiedModel)


class OpenSpaces(Generic[EmbedderT, OpenT]):
    """The spaces of one modality, each opened once per process at first use. Thread-safe."""

    first: str  # slug of the space for the model of the settings
    modality: Modality
    opened_as: type[OpenT]

    def __init__(self, graph: Graph, open_model: Callable[[Any], EmbedderT]) -> None:
        """`open_model` opens the model of a choice, or the model of the settings for None."""
        self._graph = graph
        self._open_model = open_model
        self._spaces: dict[str, OpenT] = {}
        self._lock = threading.Lock()

    def _open(self, chosen: SpaceIdentity | NewSpace) -> EmbedderT:
        provider: Any = chosen.provider
        return self._open_model(ModelChoice(provider, chosen.model, chosen.dimensions, self.modality))

    def get_open(self, space: Space) -> OpenT:
        """Return the open space of a registered one. Both index slots use the same model."""
        kept = self._spaces.get(space.slug)
        if kept is not None and kept.space.fingerprint != space.fingerprint:
            self._forget(space.slug)  # the space was deleted and another was created under its name
            kept = None
        first, chosen = space.slug == self.first, space.identity
        return kept or self._keep(
            self.opened_as(
                self._graph, space.at(""), lambda: self._open_model(None) if first else self._open(chosen)
            )
        )

    def get(self, slug: str | None = None) -> OpenT:
        return self.get_open(find_space(self._graph, slug or self.first))

    def list_all(self) -> list[OpenT]:
        spaces = read_spaces(self._graph).values()
        return [self.get_open(space) for space in spaces if space.identity.modality == self.modality]

    def open_first(self, embedder: EmbedderT) -> OpenT:
        """Register the first space for a model, or check that it is registered for this model."""
        try:
            space = ensure_space(self._graph, embedder.identity, self.first)
        except BaseException:
            embedder.close()
            raise
        return self._keep(self.opened_as(self._graph, space, lambda: embedder))

    def add(self, new: NewSpace, fingerprint: str = "") -> OpenT:
        """Register another space: open and probe its model, then create its index."""
        known, slug = read_spaces(self._graph), new.slug
        if slug in known and known[slug].dropping:
            raise Conflict(f"the space {slug!r} is being deleted. Try again when the deletion is complete")
        if len(known) >= MAX_SPACES and slug not in known:
            raise Conflict(
                f"{len(known)} spaces exist already, and the maximum is {MAX_SPACES}. Delete one first"
            )
        embedder = self._open(new)
        try:
            if fingerprint and embedder.identity.fingerprint != fingerprint:
                name = format_model_name(embedder.identity)
                message = f"this kg opens {name}, with other weights or settings"
                raise ConfigurationError(message)  # noqa: TRY301 - closed below
            answered = self.opened_as.answer_probe(embedder)  # before registration, which is permanent
            space = ensure_space(self._graph, embedder.identity, slug)
            store_probe(self._graph, space, answered)
            space = find_space(self._graph, slug)
            check_probe(space, answered)
        except BaseException:
            embedder.close()
            raise
        opened = self.opened_as(self._graph, space, lambda: embedder, checked=True)
        kept = self._spaces.get(slug)
        if kept is not None and kept.space.fingerprint != space.fingerprint:
            self._forget(slug)
        kept = self._keep(opened)
        if kept is not opened:
            opened.close()
            embedder.close()
        return kept

    def close(self) -> None:
        for space in self._spaces.values():
            space.close()

    def _forget(self, slug: str) -> None:
        with self._lock:
            gone = self._spaces.pop(slug, None)
        if gone is not None:
            gone.close()

    def _keep(self, opened: OpenT) -> OpenT:
        with self._lock:
            return self._spaces.setdefault(opened.space.slug, opened)


# Model identity: a probe text detects another model under the same name

PROBE_TEXT: Final = (
    "Where does the fox keep the seven red apples that it found behind the old mill in winter?"
)

MIN_COSINE: Final = 0.98
"""Minimum cosine of probes from the same model.

Vectors of a provider vary between calls, and vectors of quantized weights vary between processors.
Different models vary far more (docs/benchmarks.md).
"""


def check_probe(space: Space, answered: NDArray[np.float32]) -> None:
    """Compare the model's probe vector with the stored one."""
    if space.probe is None:
        return
    cosine = float(np.dot(space.probe.astype(np.float64), answered.astype(np.float64)))
    if cosine < MIN_COSINE:
        raise OtherModel(
            f"another model responds for the space {space.slug!r} ({format_model_name(space.identity)}): "
            f"its probe text has the cosine {cosine:.3f} with the stored probe, below the minimum of "
            f"{MIN_COSINE}. Vectors of two models cannot be compared. Restore the former model, or "
            "add a space for the new model with `kg admin spaces create`"
        )


# Calibration: cosines of related and unrelated texts per model
#
# Unrelated texts have a cosine near 0 in one model and 0.75 in another. Fusion needs the difference, so each
# model embeds the same pairs once.


def read_pairs() -> list[tuple[str, str]]:
    """Return questions and answers from sixteen fields with few common words."""
    text = resources.files("kg_api").joinpath("spaces/calibration.txt").read_text(encoding="utf-8")
    lines = text.splitlines()
    return list(zip(lines[0::2], lines[1::2], strict=True))


def calibrate_similarity(embedder: Embedder) -> SimilarityCalibration:
    """Return the mean cosine of questions with their own answers, and with all other answers."""
    # One call embeds both sides as passages, for any provider.
    pairs = read_pairs()
    vectors = embedder.embed_passages([_truncate(embedder, text) for pair in pairs for text in pair])
    vectors = vectors.astype(np.float64)
    cosines = vectors[0::2] @ vectors[1::2].T
    own = cosines.diagonal()
    others = (cosines.sum(axis=1) - own) / (len(pairs) - 1)
    return SimilarityCalibration(related=float(own.mean()), unrelated=float(others.mean()))


def calibrate_labels(questions: NDArray[np.float32], vectors: NDArray[np.float32]) -> SimilarityCalibration:
    """Return the mean cosine of labels with their own stored vectors, and with all others."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = questions.astype(np.float64) @ (vectors / np.maximum(lengths, 1e-12)).T
    own = cosines.diagonal()
    others = (cosines.sum() - own.sum()) / (cosines.size - len(own))
    return SimilarityCalibration(related=float(own.mean()), unrelated=float(others))


def _truncate(embedder: Embedder, text: str) -> str:
    """Truncate a text to the model's limit, which matters only for very small limits."""
    return text[: embedder.spans(text)[0][1]]


# Text spaces

CALIBRATED_SECONDS = 300.0  # delay before a failed calibration is repeated
LABELS_LOOKED_SECONDS = 60.0  # minimum interval between checks for pending label calibrations
LABELS_REST_SECONDS = 3600.0  # interval after a check without work: too few concepts, or recently calibrated
LABELS_WALKED = 100_000  # concepts searched for vectors
LABELS_HOURS = 24  # age of a calibration before it is repeated, because concepts may have changed
LABELS_SAMPLED = 200
LABELS_ASKED = 32
LABELS_NEEDED = 50  # minimum concepts for a reliable mean
QUESTIONS_KEPT = 2000  # cached query vectors: 3 MB with the default model, 25 MB with the largest vectors


class OpenSpace(WatchedModel[Embedder]):
    """A text space and its model. Each verification adds the probe text to other texts."""

    def __init__(
        self, graph: Graph, space: Space, open_model: Callable[[], Embedder], *, checked: bool = False
    ) -> None:
        """`checked`: the model has just answered its probe correctly."""
        super().__init__(graph, space, open_model, checked=checked)
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="probe")
        self._labels_looked_at = float("-inf")
        self._labels_wait = LABELS_LOOKED_SECONDS
        self._kept = LRUCache[tuple[str, int], NDArray[np.float32]](QUESTIONS_KEPT)
        self._keeping = threading.Lock()
        self._looking = threading.Lock()
        self._calibrating = threading.Lock()
        self._calibrated_at = float("-inf")
        self._uncalibrated_until = float("-inf")

    @staticmethod
    def answer_probe(embedder: Embedder) -> NDArray[np.float32]:
        return embed_probed(embedder, [], PROBE_TEXT, query=True)[-1]

    def check(self) -> None:
        try:
            self._prove([], query=True)
        except OtherModel as error:
            self._open_circuit(error)
            raise
        except FAULTS:
            self._breaker.require_probe()
            raise

    def calibrate_soon(self) -> None:
        """Calibrate the model in the background. Until then, defaults apply."""
        self._calibrated_at = time.monotonic()
        self._begin(self._calibrate)

    def calibrate(self) -> Space:
        """Return the space with its calibration, or without if the model rejects the texts for it."""
        with self._calibrating:
            if self.space.calibration is None:
                self.space = find_space(self._graph, self.space.slug)
            if self.space.calibration is None and time.monotonic() > self._uncalibrated_until:
                try:
                    calibration = calibrate_similarity(self.get_embedder())
                except (EmbeddingFailed, InvalidInput) as error:
                    self._uncalibrated_until = time.monotonic() + CALIBRATED_SECONDS
                    self._warn_of_defaults(error)
                else:
                    store_calibration(self._graph, self.space, calibration)
                    self.space = find_space(self._graph, self.space.slug)
            return self.space

    def _calibrate(self) -> None:
        try:
            self.calibrate()
        except KgError as error:
            self._warn_of_defaults(error)

    def _warn_of_defaults(self, error: KgError) -> None:
        log.warning("model not calibrated", space=self.space.slug, reason=str(error))

    def calibrate_labels_soon(self) -> None:
        """Calibrate cosines of questions and concepts in the background, if pending."""
        if time.monotonic() - self._labels_looked_at > self._labels_wait:
            self._labels_looked_at = time.monotonic()
            self._begin(self._calibrate_labels)

    def _calibrate_labels(self) -> None:
        try:
            labels, vectors = read_sample_concepts(
                self._graph, self.space, LABELS_SAMPLED, walked=LABELS_WALKED, hours=LABELS_HOURS
            )
            enough = len(labels) >= LABELS_NEEDED
            self._labels_wait = LABELS_LOOKED_SECONDS if enough else LABELS_REST_SECONDS
            if enough:
                questions = self._prove(labels[:LABELS_ASKED], query=True)
                store_label_calibration(self._graph, self.space, calibrate_labels(questions, vectors))
        except KgError as error:  # retried in a minute
            if isinstance(error, OtherModel):
                self._open_circuit(error)
            log.warning("concepts not calibrated", space=self.space.slug, reason=str(error))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question. After a failure, the model is paused for a few seconds."""
        # Models know digits and letters in normal width, so full-width characters are normalized.
        if failure := self._breaker.open_failure:
            raise failure.copy()
        try:
            return self._embed_question(normalise_width(text))
        except FAULTS as error:
            self._open_circuit(error)
            raise

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed passages and verify the model in the same request or directly afterwards."""
        identity = self.space.identity
        try:
            if self._breaker.lasting or identity.query_prefix != identity.passage_prefix:
                vectors = self.get_embedder().embed_passages(texts)
                if self._breaker.lasting:
                    self.ensure_verified()
                else:  # the probe is a question and has another vector as a passage
                    self.check()  # always, because passages are stored permanently
                return vectors
            return self._prove(texts, query=False)
        except OtherModel as error:
            self._open_circuit(error)
            raise
        except FAULTS:
            self._breaker.require_probe()
            raise

    def get_last_failure(self) -> str | None:
        """Return the last failure. Outside of the pause, check the model again in the background."""
        failure = self._breaker.failure
        if failure is None:
            return None
        if self._breaker.open_failure is None and self._looking.acquire(blocking=False):
            self._begin(self._look)
        return str(failure.error)

    def close(self) -> None:
        self._asking.shutdown(cancel_futures=True)
        super().close()

    def _begin(self, work: Callable[[], None]) -> None:
        """Run work in the background, unless the space is closed (for example after a re-creation)."""

        def for_all() -> None:
            with limit_visible_ontologies(None):
                work()

        with contextlib.suppress(RuntimeError):
            self._asking.submit(for_all)

    def _look(self) -> None:
        try:
            self.check()
        except KgError as error:
            if isinstance(error, FAULTS):
                self._breaker.record_failure(error)
        finally:
            self._looking.release()

    def _embed_question(self, text: str) -> NDArray[np.float32]:
        changes = self._breaker.changes
        if not self._breaker.is_due:
            with self._keeping:
                vector = self._kept.get((text, changes))
            if vector is None:
                vector = self._keep(text, changes, self.get_embedder().embed_query(text))
            if self._breaker.changes == changes:
                return vector  # otherwise, a concurrent question detected another model
        changes = self._breaker.changes
        return self._keep(text, changes, self._prove([text], query=True)[0].copy())

    def _keep(self, text: str, changes: int, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cache a question's vector until another model answers."""
        vector.setflags(write=False)
        with self._keeping:
            self._kept[text, changes] = vector
        return vector

    def _prove(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        """Embed texts with the probe, and return the vectors only if the probe is unchanged."""
        asked_at = time.monotonic()
        rows = embed_probed(self.get_embedder(), texts, PROBE_TEXT, query=query)
        self._compare(rows[-1], asked_at)
        if self.space.calibration is None and asked_at - self._calibrated_at > CALIBRATED_SECONDS:
            self.calibrate_soon()
        return rows[:-1]
