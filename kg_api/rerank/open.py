"""The reranker that the settings name."""

from __future__ import annotations

import structlog

from kg_api.errors import ConfigurationError
from kg_api.rerank.local.packaged import MODEL, packaged_folder, require_files, require_packaged
from kg_api.rerank.local.reranker import LocalReranker
from kg_api.rerank.port import Reranker
from kg_api.settings import Settings

log = structlog.get_logger(__name__)


def open_reranker(settings: Settings) -> Reranker | None:
    """Open the reranker; no model is loaded and nothing is asked of a provider before the first question.

    Returns:
        None when none is wanted, or `auto` finds none at hand.

    Raises:
        ConfigurationError: one is named, but a key, its packages or its files are missing or wrong.
    """
    own = settings.rerank
    match own.provider:
        case "none":
            return None
        case "local":
            return _open_local(settings)
        case "cohere":
            from kg_api.rerank.remote.cohere import open_cohere  # noqa: PLC0415 - the SDK is an extra

            return open_cohere(settings)
        case "endpoint":
            from kg_api.rerank.remote.endpoint import open_endpoint  # noqa: PLC0415 - httpx takes its time to import

            return open_endpoint(settings)
        case "auto":
            return _open_what_is_there(settings)


def _open_what_is_there(settings: Settings) -> Reranker | None:
    own = settings.rerank
    if own.base_url is not None:
        return open_reranker(_with_provider(settings, "endpoint"))
    if own.model_dir is None and packaged_folder() is None:
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
            f"KG_RERANK__MODEL: the local reranker is {MODEL}; leave it out, or set KG_RERANK__MODEL_DIR"
        )
    return LocalReranker(require_packaged(), MODEL)


def _with_provider(settings: Settings, provider: str) -> Settings:
    return settings.model_copy(update={"rerank": settings.rerank.model_copy(update={"provider": provider})})
