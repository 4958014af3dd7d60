"""A space's model, and what is known of it: when it was last seen to be the same, why it is left alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import structlog

from kg_api.embed.known import IN_PROCESS
from kg_api.errors import ConfigurationError, EmbeddingFailed, EmbeddingUnavailable, KgError, OtherModel
from kg_api.graph.spaces.registry import Space, display_name
from kg_api.models.embedding.spaces import SpaceIdentity

log = structlog.get_logger()

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
