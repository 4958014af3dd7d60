"""What is known of a space's model: when it was last seen to be the same, and why it is left alone."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from kg_api.errors import ConfigurationError, EmbeddingFailed, EmbeddingUnavailable, OtherModel

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
        """Whether the model cannot change."""
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
