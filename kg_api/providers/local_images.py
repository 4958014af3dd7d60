"""Image models in ONNX, such as CLIP, SigLIP, and nomic vision, from the user's folders."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput
from kg_api.machine import count_cores
from kg_api.onnx_sessions import PICTURE_INPUTS, Graph
from kg_api.providers.embedding_port import (
    Pixels,
    Rendering,
    Resample,
    TokenizedEmbedder,
    Vectors,
    average_pieces,
    draw_probe_image,
    normalize_vector,
)
from kg_api.providers.local_embedding import OnnxText, Pooling, build_text_inputs, pool_states
from kg_api.providers.model_files import TOKENIZER, hash_file
from kg_api.providers.pixels import CHANNELS
from kg_api.providers.tokens import Bytes
from kg_api.schemas.spaces import ModelChoice, SpaceIdentity
from kg_api.settings import Settings

_RESAMPLING: dict[int, Resample] = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
"""Numbers for Pillow, to use in preprocessor_config.json."""
Side = Annotated[int, Field(ge=1, le=1536)]
Channels = Annotated[list[float], Field(min_length=CHANNELS, max_length=CHANNELS)]


def _read_sides(value: Any) -> Any:
    """Return height, width, and method of `224`, of a shortest edge, or of both sides."""
    if not isinstance(value, dict):
        return value, value, "cover"
    sides = cast("dict[str, Any]", value)
    if edge := sides.get("shortest_edge"):
        return edge, edge, "cover"
    return sides.get("height"), sides.get("width"), "stretch"


Sides = Annotated[tuple[Side, Side, Literal["cover", "stretch"]], BeforeValidator(_read_sides)]


class PreprocessorFile(BaseModel):
    """The part of preprocessor_config.json that is used. Other steps are rejected."""

    model_config = ConfigDict(extra="allow")

    size: Sides
    crop_size: Sides | None = None
    do_center_crop: bool | None = None
    do_convert_rgb: bool | None = None
    do_resize: Literal[True] = True
    do_rescale: Literal[True] = True
    do_normalize: Literal[True] = True
    resample: Annotated[int, Field(ge=0, le=3)] = 3
    rescale_factor: float = Field(default=1 / 255, gt=0, allow_inf_nan=False)
    image_mean: Channels
    image_std: Channels

    @property
    def crop(self) -> tuple[int, int]:
        """Height and width of the center crop."""
        return (self.crop_size if self.crop_size and self.do_center_crop is not False else self.size)[:2]

    @model_validator(mode="after")
    def _can_be_followed(self) -> Self:
        extra = self.model_extra or {}
        if unknown := [name for name, on in extra.items() if name.startswith("do_") and on]:
            raise ValueError(f"kg knows no {', '.join(unknown)}")
        if min(self.image_std) <= 0 or self.crop[0] > self.size[0] or self.crop[1] > self.size[1]:
            raise ValueError("image_std must be above 0, and crop_size no larger than size")
        if self.size[2] == "cover" and (self.crop_size is None or self.do_center_crop is False):
            raise ValueError(
                "size must be height and width, or shortest_edge with a crop, so that images have one size"
            )
        return self

    @property
    def rendering(self) -> Rendering:
        height, width, fit = self.size
        return Rendering(width, height, fit, _RESAMPLING[self.resample])

    def compute_input(self, pixels: Pixels) -> NDArray[np.float32]:
        """Compute the input for an image: float32, shape (1, 3, height, width)."""
        height, width = self.crop
        top, left = (pixels.shape[0] - height) // 2, (pixels.shape[1] - width) // 2
        middle = pixels[top : top + height, left : left + width].astype(np.float32)
        mean, std = (np.array(each, dtype=np.float32) for each in (self.image_mean, self.image_std))
        scaled = (middle * np.float32(self.rescale_factor) - mean) / std
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[np.newaxis])


def read_preprocessing(path: Path) -> PreprocessorFile:
    try:
        return PreprocessorFile.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ConfigurationError(f"{path} cannot be followed: {error}") from error


# Facts about a model, from its files

PREPROCESSOR = "preprocessor_config.json"
_PICTURE_FILES = ("vision_model.onnx", "onnx/vision_model.onnx", "model.onnx", "onnx/model.onnx")
_TEXT_FILES = ("text_model.onnx", "onnx/text_model.onnx")
_WEIGHTS = (".onnx", ".onnx_data", ".data", ".bin")  # extensions of files that a model may read
_OUTPUTS = ("image_embeds", "text_embeds", "sentence_embedding", "pooler_output", "last_hidden_state")
"""Outputs to use, the best first: vectors in the common space before others."""
_PADDED = {"siglip": 64, "siglip2": 64}
"""Kinds of models in config.json that were trained using texts with the same length."""
_MAX_TOKENS = 1_000_000  # a larger number in tokenizer_config.json means no limit


def _find(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _compute_checksums(folder: Path) -> dict[str, str]:
    """Compute the sha256 for all files that can change vectors, by path in the folder."""
    settings = {PREPROCESSOR, TOKENIZER}
    files = (path for path in folder.rglob("*") if path.suffix in _WEIGHTS or path.name in settings)
    there = sorted(each for each in files if each.is_file())
    return {path.relative_to(folder).as_posix(): hash_file(path) for path in there}


def _find_pooling(states: NDArray[np.float32], usual: Pooling) -> Pooling:
    return "none" if states.ndim == 1 else usual


def _pad_id(folder: Path) -> int:
    found = _read(folder / TOKENIZER, "padding", "pad_id")
    return found if isinstance(found, int) else 0


def _read_max_tokens(folder: Path) -> int:
    found = _read(folder / TOKENIZER, "truncation", "max_length")
    found = found or _read(folder / "tokenizer_config.json", "model_max_length")
    if not isinstance(found, int) or found > _MAX_TOKENS:
        raise ConfigurationError(
            f"no file in {folder} states the length of a text. Write `model_max_length`, such as 77, "
            "to its tokenizer_config.json"
        )
    return found


def _read(path: Path, *names: str) -> object:
    """Read a value from a JSON file. If this is not possible, return None."""
    try:
        found: Any = json.loads(path.read_bytes())
        for name in names:
            found = found[name]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return found


# Embedder

_NAME = re.compile(r"[\w-][\w.-]{0,199}")
_BATCH = 16


class OnnxImageEmbedder(TokenizedEmbedder):
    """Local image model to use on the CPU.

    Vectors are bit-stable on one machine: each call has one image or text and one ONNX thread. Do not use in
    a forked child process.
    """

    def __init__(self, folder: Path, threads: int | None = None, query_prefix: str = "") -> None:
        """Load the model, which is named after its folder, and test it once."""
        self._preprocessing = read_preprocessing(folder / PREPROCESSOR)
        self._rendering = self._preprocessing.rendering
        picture, text = _find(folder, _PICTURE_FILES), _find(folder, _TEXT_FILES)
        if picture is None:
            raise ConfigurationError(f"{folder} has no vision_model.onnx or model.onnx, there or in onnx/")
        self._graph = Graph(picture, PICTURE_INPUTS, _OUTPUTS)
        max_tokens = 0
        self._text: OnnxText | None = None
        try:
            pixels = self._preprocessing.compute_input(draw_probe_image(self._rendering))
            states = self._graph.run({"pixel_values": pixels})
            self._pooling: Pooling = _find_pooling(states, "cls")
            dimensions = normalize_vector(pool_states(states, self._pooling), states.shape[-1]).size
            used: list[object] = [self._graph.output, self._pooling]
            if text is not None:
                graph = Graph(text, preferred=_OUTPUTS)
                pad_to = _PADDED.get(str(_read(folder / "config.json", "model_type")))
                pad_id = _pad_id(folder)
                max_tokens = pad_to or _read_max_tokens(folder)
                states = graph.run(build_text_inputs([1] * 4, pad_to, pad_id))
                pooling = _find_pooling(states, "mean")
                used += [graph.output, pooling, pad_to, pad_id, max_tokens, query_prefix]
                self._text = OnnxText(
                    graph,
                    folder / TOKENIZER,
                    dimensions=dimensions,
                    max_tokens=max_tokens,
                    pooling=pooling,
                    pad_to=pad_to,
                    pad_id=pad_id,
                )
                self._text.embed(f"{query_prefix}warm up")
            revision = hashlib.sha256(json.dumps([used, _compute_checksums(folder)]).encode()).hexdigest()
        except (EmbeddingFailed, InvalidInput, OSError) as error:
            raise ConfigurationError(f"{folder} holds no model that kg can use: {error}") from error
        identity = SpaceIdentity(
            provider="onnx",
            model=folder.name,
            revision=revision,
            dimensions=dimensions,
            max_tokens=max_tokens,
            query_prefix=query_prefix if self._text else "",
            modality="image",
        )
        super().__init__(identity, self._text.tokenizer if self._text else Bytes())
        self._pool = ThreadPoolExecutor(threads or count_cores(), thread_name_prefix="embed-image")

    @property
    def rendering(self) -> Rendering:
        return self._rendering

    @property
    def batch_size(self) -> int:
        return _BATCH

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        vectors = np.empty((len(images), self._identity.dimensions), dtype=np.float32)
        for i, vector in enumerate(self._pool.map(self._embed, images)):
            vectors[i] = vector
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query in the caller's thread, to avoid waiting for images."""
        if self._text is None:
            raise ConfigurationError(
                f"the image model {self._identity.model} (onnx) cannot embed text: its folder lacks "
                "text_model.onnx"
            )
        tower, prefix = self._text, self._identity.query_prefix
        rows = np.stack([tower.embed(prefix + piece)[0] for piece in self._split_pieces(text)])
        return average_pieces(rows)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _embed(self, pixels: Pixels) -> Vectors:
        states = self._graph.run({"pixel_values": self._preprocessing.compute_input(pixels)})
        return normalize_vector(pool_states(states, self._pooling), self._identity.dimensions)


def open_onnx(settings: Settings, choice: ModelChoice) -> OnnxImageEmbedder:
    """Open a model in a subfolder of KG_IMAGE_EMBEDDING__FOLDER."""
    prefix = settings.image_embedding.query_prefix
    embedder = OnnxImageEmbedder(_find_folder(settings, choice.model), settings.embedding.threads, prefix)
    found = embedder.identity.dimensions
    if choice.dimensions not in {None, found}:
        embedder.close()
        raise ConfigurationError(
            f"{embedder.identity.model} returns vectors of {found} numbers, not {choice.dimensions}. "
            "Correct KG_IMAGE_EMBEDDING__DIMENSIONS or the dimensions of the space, or unset them"
        )
    return embedder


def _find_folder(settings: Settings, name: str | None) -> Path:
    parent = settings.image_embedding.folder
    if parent is None:
        raise ConfigurationError(
            "KG_IMAGE_EMBEDDING__FOLDER is not set where kg runs. Set it to a folder with a "
            "subfolder for each image model, then run `kg down` and `kg up`"
        )
    there = sorted(path.name for path in parent.glob("*/") if (path / PREPROCESSOR).is_file())
    if name is None and len(there) == 1:
        return parent / there[0]
    if name in there and _NAME.fullmatch(name):
        return parent / name
    found = ", ".join(there) if there else f"no subfolder contains {PREPROCESSOR}"
    raise ConfigurationError(
        f"KG_IMAGE_EMBEDDING__MODEL={name or ''} is not a model in {parent}. Available: {found}"
    )
