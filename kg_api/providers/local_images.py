"""Image models in folders of the user's: CLIP, SigLIP, nomic vision and their like, as ONNX."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput, KgError
from kg_api.machine import cores
from kg_api.onnx_sessions import KNOWN_INPUTS, PICTURE_INPUTS, Graph
from kg_api.providers.embedding_port import (
    Pixels,
    Rendering,
    Resample,
    Vectors,
    mean_of_pieces,
    probe_picture,
    require_text,
    unit,
)
from kg_api.providers.local_embedding import OnnxText, Pooling, pooled, text_inputs
from kg_api.providers.pixels import CHANNELS, require_rendered
from kg_api.providers.tokens import cut, query_pieces
from kg_api.schemas.spaces import ImageModelChoice, SpaceIdentity
from kg_api.settings import Settings

_RESAMPLING: dict[int, Resample] = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
"""By their numbers in Pillow, which such files have."""
_STEPS = {"do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb"}
Side = Annotated[int, Field(ge=1, le=1536)]
Channels = Annotated[list[float], Field(min_length=CHANNELS, max_length=CHANNELS)]


class PictureSize(BaseModel):
    """A size, in either of two ways."""

    model_config = ConfigDict(extra="forbid")

    height: Side | None = None
    width: Side | None = None
    shortest_edge: Side | None = None

    @property
    def sides(self) -> tuple[int, int] | None:
        """Height and width, where both are told."""
        return (self.height, self.width) if self.height and self.width else None


class PreprocessorFile(BaseModel):
    """The part of such a file that is used; a step that is not known is refused."""

    model_config = ConfigDict(extra="allow")

    size: PictureSize | Side
    crop_size: PictureSize | Side | None = None
    do_resize: bool = True
    do_center_crop: bool | None = None
    do_rescale: bool = True
    do_normalize: bool = True
    resample: int = 3
    rescale_factor: float = Field(default=1 / 255, gt=0, allow_inf_nan=False)
    image_mean: Channels | None = None
    image_std: Channels | None = None


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How pictures become numbers."""

    rendering: Rendering
    height: int
    width: int
    factor: float
    mean: NDArray[np.float32]
    std: NDArray[np.float32]

    def values(self, pixels: Pixels) -> NDArray[np.float32]:
        """One picture as a model takes it: float32, shape (1, 3, height, width)."""
        top, left = (pixels.shape[0] - self.height) // 2, (pixels.shape[1] - self.width) // 2
        middle = pixels[top : top + self.height, left : left + self.width]
        scaled = (middle.astype(np.float32) * np.float32(self.factor) - self.mean) / self.std
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[np.newaxis])


def read_preprocessing(path: Path) -> Preprocessing:
    """Read a preprocessor_config.json.

    Raises:
        ConfigurationError: it is none, or asks for what kg does not do.
    """
    try:
        return _preprocessing(PreprocessorFile.model_validate_json(path.read_bytes()))
    except (OSError, ValidationError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be followed: {error}") from error


def _preprocessing(file: PreprocessorFile) -> Preprocessing:
    extra: dict[str, Any] = file.model_extra or {}
    if unknown := [
        name for name, on in extra.items() if name.startswith("do_") and on and name not in _STEPS
    ]:
        raise ValueError(f"kg knows no {', '.join(unknown)}")
    if file.resample not in _RESAMPLING or not file.do_resize:
        raise ValueError(
            "kg resizes every picture, by nearest, lanczos, bilinear or bicubic (resample 0 to 3)"
        )
    rendering = _rendering(file)
    height, width = _crop(file, rendering)
    mean, std = _normal(file)
    return Preprocessing(rendering, height, width, file.rescale_factor if file.do_rescale else 1.0, mean, std)


def _rendering(file: PreprocessorFile) -> Rendering:
    size = PictureSize(shortest_edge=file.size) if isinstance(file.size, int) else file.size
    if size.sides:
        return Rendering(size.sides[1], size.sides[0], "stretch", _RESAMPLING[file.resample])
    if size.shortest_edge and file.do_center_crop is not False and file.crop_size:
        return Rendering(size.shortest_edge, size.shortest_edge, "cover", _RESAMPLING[file.resample])
    raise ValueError(
        "size must be height and width, or shortest_edge with a crop: pictures have one size then"
    )


def _crop(file: PreprocessorFile, rendering: Rendering) -> tuple[int, int]:
    """Height and width of the middle that is cut out."""
    if file.crop_size is None or file.do_center_crop is False:
        return rendering.height, rendering.width
    crop = file.crop_size
    sides = (crop, crop) if isinstance(crop, int) else crop.sides
    if sides is None or sides[0] > rendering.height or sides[1] > rendering.width:
        raise ValueError("crop_size must be height and width, no larger than size")
    return sides


def _normal(file: PreprocessorFile) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    if not file.do_normalize:
        return _row([0.0] * CHANNELS), _row([1.0] * CHANNELS)
    if file.image_mean is None or file.image_std is None or min(file.image_std) <= 0:
        raise ValueError("do_normalize needs image_mean and image_std, and the latter above 0")
    return _row(file.image_mean), _row(file.image_std)


def _row(values: Sequence[float]) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


# What has to be known about a folder with a picture model: kg-model.json in it.
#
# The weights are somebody's, and decide what every vector means: their sha256 are part of the
# description, and
# a folder that holds other files than it describes is refused.

PROFILE = "kg-model.json"
PREPROCESSOR = "preprocessor_config.json"
TOKENIZER = "tokenizer.json"
DESCRIBE = "python -m kg_api.providers.local_images FOLDER"
_WEIGHTS = (".onnx", ".onnx_data", ".data", ".bin")
"""Endings of files that a model may read."""


def _within(name: str) -> str:
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\\" in name:
        raise ValueError("must be the path of a file in the folder")
    return name


RelativePath = Annotated[str, AfterValidator(_within)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class PictureTowerProfile:
    """The half that reads pictures."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    file: RelativePath
    output: str
    pooling: Pooling = "none"


@dataclass(frozen=True, slots=True)
class TextTowerProfile:
    """The half that reads words."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    file: RelativePath
    output: str
    max_tokens: Annotated[int, Field(ge=16, le=1_000_000)]
    pooling: Pooling = "none"
    pad_to: Annotated[int, Field(ge=1, le=8192)] | None = None
    """Tokens that every text has, filled with `pad_id`: 64 for SigLIP, which was trained so."""
    pad_id: Annotated[int, Field(ge=0)] = 0
    query_prefix: Annotated[str, Field(max_length=500)] = ""
    tokenizer: RelativePath = TOKENIZER


@dataclass(frozen=True, slots=True)
class ImageModelProfile:
    """A model of one or two halves in a folder."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    dimensions: Annotated[int, Field(ge=1, le=4096)]
    picture: PictureTowerProfile
    sha256: dict[RelativePath, Sha256]
    """Of every file that is used."""
    text: TextTowerProfile | None = None
    preprocessor: RelativePath = PREPROCESSOR

    @property
    def revision(self) -> str:
        """Changes when anything does that a vector depends on."""
        return hashlib.sha256(_PROFILES.dump_json(self)).hexdigest()

    @property
    def used(self) -> set[str]:
        """The files that are read by name."""
        of_text = {self.text.file, self.text.tokenizer} if self.text else set[str]()
        return {self.picture.file, self.preprocessor} | of_text


_PROFILES = TypeAdapter(ImageModelProfile)


def read_profile(folder: Path) -> ImageModelProfile:
    """Read a folder's description, and hold its files to it.

    Raises:
        ConfigurationError: naming the file that is missing, wrong or another one.
    """
    path = folder / PROFILE
    try:
        profile = _PROFILES.validate_json(path.read_bytes())
    except FileNotFoundError:
        raise ConfigurationError(f"{path} is not there: {DESCRIBE} writes it") from None
    except (OSError, ValidationError) as error:
        raise ConfigurationError(f"{path} is wrong: {_in_short(error)}; {DESCRIBE} writes it anew") from None
    found = checksums(folder, profile.used | set(profile.sha256))
    if unknown := sorted(found.keys() - profile.sha256.keys()):
        told = f"{folder / PROFILE} says nothing of {', '.join(unknown)}"
        raise ConfigurationError(f"{told}: remove it, or describe all anew ({DESCRIBE})")
    if others := [name for name, checksum in found.items() if checksum != profile.sha256[name]]:
        raise ConfigurationError(
            f"{folder / others[0]} is another file than {PROFILE} describes (sha256): put the right one "
            "there; or, for another model, make a folder of its own"
        )
    return profile


def write_profile(folder: Path, profile: ImageModelProfile) -> Path:
    path = folder / PROFILE
    path.write_bytes(TypeAdapter(dict[str, object]).dump_json(asdict(profile), indent=2) + b"\n")
    return path


def checksums(folder: Path, names: set[str]) -> dict[str, str]:
    """The sha256 of files by their names in a folder, with those of all weights there.

    Raises:
        ConfigurationError: one cannot be read.
    """
    found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix in _WEIGHTS and path.is_file()
    }
    return {name: _sha256(folder / name) for name in sorted(names | found)}


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error


def _in_short(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])


# Writes kg-model.json: python -m kg_api.providers.local_images FOLDER [--query-prefix "search_query: "].
#
# What the files say themselves is read from them; what they do not say is an option.

_PICTURE_FILES = ("vision_model", "model")
_TEXT_FILES = ("text_model",)
_OUTPUTS = ("image_embeds", "text_embeds", "sentence_embedding", "pooler_output", "last_hidden_state")
"""The best first: what is projected into the common space before what is not."""
_PADDED = {"siglip": 64, "siglip2": 64}
"""Kinds of models, by config.json, that were trained with texts of one length."""
_MAX_TOKENS = 1_000_000
"""More than that in a tokenizer_config.json stands for `no limit`."""


def describe(folder: Path, given: argparse.Namespace) -> ImageModelProfile:
    """Describe a folder.

    Raises:
        ConfigurationError: saying which file is missing, or which option.
    """
    preprocessing = read_preprocessing(folder / PREPROCESSOR)
    values = preprocessing.values(probe_picture(preprocessing.rendering))
    file = _find(folder, given.picture_file, _PICTURE_FILES)
    if file is None:
        raise ConfigurationError(f"{folder} has no vision_model.onnx or model.onnx, there or in onnx/")
    output, shape = _tried(folder / file, PICTURE_INPUTS, {"pixel_values": values})
    picture = PictureTowerProfile(file, output, given.picture_pooling or _pooling(shape, "cls"))
    text = _text(folder, given)
    profile = ImageModelProfile(given.dimensions or shape[-1], picture, {}, text)
    return ImageModelProfile(profile.dimensions, picture, checksums(folder, profile.used), text)


def _text(folder: Path, given: argparse.Namespace) -> TextTowerProfile | None:
    file = _find(folder, given.text_file, _TEXT_FILES)
    if file is None:
        return None
    kind = str(_read(folder / "config.json").get("model_type"))
    pad_to = given.pad_to or _PADDED.get(kind)
    pad_id = _pad_id(folder) if given.pad_id is None else given.pad_id
    output, shape = _tried(folder / file, KNOWN_INPUTS, text_inputs([1] * 4, pad_to, pad_id))
    pooling = given.text_pooling or _pooling(shape, "mean")
    most = given.max_tokens or pad_to or _max_tokens(folder)
    return TextTowerProfile(file, output, most, pooling, pad_to, pad_id, given.query_prefix)


def _find(folder: Path, given: str | None, names: Sequence[str]) -> str | None:
    if given is not None:
        return given
    places = [f"{below}{name}.onnx" for name in names for below in ("", "onnx/")]
    return next((place for place in places if (folder / place).is_file()), None)


def _tried(path: Path, known: frozenset[str], feed: dict[str, NDArray[Any]]) -> tuple[str, tuple[int, ...]]:
    """The best output of a model, and its shape for one input."""
    graph = Graph(path, known)
    graph.output = next((name for name in _OUTPUTS if name in graph.outputs), graph.output)
    return graph.output, graph.run(feed).shape


def _pooling(shape: tuple[int, ...], usual: Pooling) -> Pooling:
    return "none" if len(shape) == 1 else usual


def _pad_id(folder: Path) -> int:
    padding = _read(folder / TOKENIZER).get("padding")
    found = cast("dict[str, Any]", padding).get("pad_id") if isinstance(padding, dict) else None
    return found if isinstance(found, int) else 0


def _max_tokens(folder: Path) -> int:
    truncation = _read(folder / TOKENIZER).get("truncation")
    said = cast("dict[str, Any]", truncation).get("max_length") if isinstance(truncation, dict) else None
    said = said or _read(folder / "tokenizer_config.json").get("model_max_length")
    if not isinstance(said, int) or said > _MAX_TOKENS:
        raise ConfigurationError("no file says how long a text may be: add --max-tokens")
    return said


def _read(path: Path) -> dict[str, Any]:
    try:
        found: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="describe", description="Describe a folder with a picture model.")
    parser.add_argument("folder", type=Path)
    for name in ("--picture-file", "--text-file"):
        parser.add_argument(name, help="its path in the folder")
    for name in ("--picture-pooling", "--text-pooling"):
        parser.add_argument(name, choices=("none", "cls", "mean"))
    for name in ("--dimensions", "--max-tokens", "--pad-to", "--pad-id"):
        parser.add_argument(name, type=int)
    parser.add_argument("--query-prefix", default="", help="what stands before words that look for pictures")
    return parser


def write_description(arguments: Sequence[str]) -> Path:
    """Describe the folder that a command line names, and give the path of its description.

    Raises:
        ConfigurationError: as `describe`.
    """
    given = _options().parse_args(arguments)
    return write_profile(given.folder, describe(given.folder, given))


def main() -> None:
    """Do so, and say where it is."""
    try:
        print(write_description(sys.argv[1:]))  # noqa: T201 - a command
    except KgError as error:
        sys.exit(str(error))


# The embedder.

_NAME = re.compile(r"[\w-][\w.-]{0,199}")
_BATCH = 16


class OnnxImageEmbedder:
    """A model on this machine's processor.

    Vectors are bit-stable on one machine: one picture or text a call, and one ONNX thread for each. Not for
    use in a child made by `fork`.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """Load the model, and try it once.

        Args:
            folder: whose name is the model's, with what it describes.
            threads: so many pictures are embedded at once; unset: one per core.

        Raises:
            ConfigurationError: the folder does not hold what it describes, or that cannot be used.
        """
        profile = read_profile(folder)
        preprocessing = read_preprocessing(folder / profile.preprocessor)
        self._rendering = preprocessing.rendering
        self._preprocessing = preprocessing
        self._pooling: Pooling = profile.picture.pooling
        self._graph = Graph(folder / profile.picture.file, PICTURE_INPUTS, profile.picture.output)
        self._text = _open_text(folder, profile.text, profile.dimensions) if profile.text else None
        self._identity = _identity(folder.name, profile)
        self._pool = ThreadPoolExecutor(threads or cores(), thread_name_prefix="embed-image")
        try:
            self._embed(probe_picture(self._rendering))
            if self._text is not None:
                self._text.embed(f"{self._identity.query_prefix}warm up")
        except (EmbeddingFailed, InvalidInput) as error:
            self.close()
            raise ConfigurationError(
                f"{folder} does not hold a model as {PROFILE} describes: {error}"
            ) from error

    @property
    def identity(self) -> SpaceIdentity:
        """The folder's name, and the checksum of all that it describes."""
        return self._identity

    @property
    def rendering(self) -> Rendering:
        """As its preprocessor_config.json says."""
        return self._rendering

    @property
    def reads_text(self) -> bool:
        """Whether there is a text tower."""
        return self._text is not None

    @property
    def batch_size(self) -> int:
        return _BATCH

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        require_rendered(images, self._rendering)
        vectors = np.empty((len(images), self._identity.dimensions), dtype=np.float32)
        for i, vector in enumerate(self._pool.map(self._embed, images)):
            vectors[i] = vector
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See `ImageEmbedder`; in the caller's thread, so that it never waits for pictures."""
        require_text(text)
        if self._text is None:
            raise ConfigurationError(
                f"the picture model {self._identity.model} (onnx) reads no text: {PROFILE} in its folder "
                "describes no text tower"
            )
        tower, prefix = self._text, self._identity.query_prefix
        pieces = query_pieces(text, cut(text, tower.measure(prefix)))
        rows = np.stack([tower.embed(prefix + piece)[0] for piece in pieces])
        return mean_of_pieces(rows)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _embed(self, pixels: Pixels) -> Vectors:
        states = self._graph.run({"pixel_values": self._preprocessing.values(pixels)})
        return unit(pooled(states, self._pooling), self._identity.dimensions)


def _open_text(folder: Path, profile: TextTowerProfile, dimensions: int) -> OnnxText:
    return OnnxText(
        folder / profile.file,
        folder / profile.tokenizer,
        dimensions=dimensions,
        max_tokens=profile.max_tokens,
        pooling=profile.pooling,
        output=profile.output,
        pad_to=profile.pad_to,
        pad_id=profile.pad_id,
    )


def open_onnx(settings: Settings, choice: ImageModelChoice) -> OnnxImageEmbedder:
    """Open the model of a folder below KG_IMAGE_EMBEDDING__FOLDER.

    Raises:
        ConfigurationError: there is no such folder, or it does not hold what it describes.
    """
    embedder = OnnxImageEmbedder(_folder(settings, choice.model), settings.embedding.threads)
    found = embedder.identity.dimensions
    if choice.dimensions not in {None, found}:
        embedder.close()
        raise ConfigurationError(
            f"{embedder.identity.model} gives vectors of {found} numbers, not {choice.dimensions}: correct "
            "KG_IMAGE_EMBEDDING__DIMENSIONS or the space's dimensions, or leave them out"
        )
    return embedder


def _folder(settings: Settings, name: str | None) -> Path:
    parent = settings.image_embedding.folder
    if parent is None:
        raise ConfigurationError(
            "KG_IMAGE_EMBEDDING__FOLDER is not set where kg runs: set it to the folder whose subfolders hold "
            "picture models, then `kg down` and `kg up`"
        )
    there = sorted(path.name for path in parent.glob("*/") if (path / PROFILE).is_file())
    if name is None and len(there) == 1:
        return parent / there[0]
    if name in there and _NAME.fullmatch(name):
        return parent / name
    found = f"it has {', '.join(there)}" if there else f"none of its subfolders has a {PROFILE}"
    raise ConfigurationError(
        f"KG_IMAGE_EMBEDDING__MODEL: {parent} has no model {name or 'that is the only one'}; {found}"
    )


def _identity(name: str, profile: ImageModelProfile) -> SpaceIdentity:
    text = profile.text
    return SpaceIdentity(
        provider="onnx",
        model=name,
        revision=profile.revision,
        dimensions=profile.dimensions,
        max_tokens=text.max_tokens if text else 0,
        query_prefix=text.query_prefix if text else "",
        modality="image",
    )


if __name__ == "__main__":
    main()
