"""The local cross-encoder: offline, without a key."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from kg_api.errors import ConfigurationError, RerankUnavailable
from kg_api.machine import cores
from kg_api.rerank.blend import relevance

if TYPE_CHECKING:
    from kg_api.rerank.local.cross_encoder import CrossEncoder

_AHEAD = 2
"""Pairs that a request keeps waiting for each thread. Few, so that requests take turns."""


class LocalReranker:
    """A cross-encoder on this machine's processor, loaded when it is first asked.

    Scores are bit-stable on one machine. Not for use in a child made by `fork`.
    """

    def __init__(self, folder: Path, name: str, threads: int | None = None) -> None:
        """Nothing is loaded yet.

        Args:
            folder: with model.onnx and tokenizer.json.
            name: of the model.
            threads: how many pairs are read at once; unset: one per core.
        """
        self._folder = folder
        self._name = f"local:{name}"
        self._threads = threads or cores()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="rerank")
        self._loading = threading.Lock()
        self._model: CrossEncoder | None = None

    @property
    def name(self) -> str:
        return self._name

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """See `Reranker`. The first call loads the model, within its time."""
        until = time.monotonic() + seconds
        model = self._load()
        model.require_question(query)
        waiting = deque[Future[float]]()
        found = list[float]()
        for text in texts:
            waiting.append(self._pool.submit(model.score, query, text, until))
            if len(waiting) == _AHEAD * self._threads and not _take(waiting, found, until):
                break
        while waiting and _take(waiting, found, until):
            pass
        if texts and not found:
            raise RerankUnavailable(f"no passage was read in {seconds:g} s; set KG_RERANK__SECONDS higher")
        return found

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _load(self) -> CrossEncoder:
        with self._loading:
            if self._model is None:
                from kg_api.rerank.local.cross_encoder import CrossEncoder  # noqa: PLC0415 - onnxruntime takes its time

                try:
                    self._model = CrossEncoder(self._folder)
                except ConfigurationError as error:
                    raise RerankUnavailable(str(error)) from error
            return self._model


def _take(waiting: deque[Future[float]], found: list[float], until: float) -> bool:
    """Take the next score in order; False, and nobody waits any more, when the time is over."""
    try:
        logit = waiting[0].result(timeout=max(0.0, until - time.monotonic()))
    except TimeoutError:
        for future in waiting:
            future.cancel()
        waiting.clear()
        return False
    waiting.popleft()
    found.append(relevance(logit))
    return True
