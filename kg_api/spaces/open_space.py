"""A space whose model can be asked: opened when needed, seen to be the same, left alone when down."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import structlog
from numpy.typing import NDArray

from kg_api.embed.port import Embedder
from kg_api.embed.probed import embed_probed
from kg_api.errors import KgError, OtherModel
from kg_api.graph.database import Graph
from kg_api.graph.spaces.calibrations import remember_calibration, remember_labels, sample_of_concepts
from kg_api.graph.spaces.registry import (
    Space,
    find_space,
    remember_probe,
)
from kg_api.spaces.calibration import calibrate_labels, calibrate_similarity
from kg_api.spaces.model_watch import FAULTS, WatchedModel
from kg_api.spaces.probe import PROBE_TEXT, check_probe
from kg_api.wording.normal_form import normalise_width

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
