"""What has to be known about a folder with a picture model: kg-model.json in it.

The weights are somebody's, and decide what every vector means: their sha256 are part of the description, and
a folder that holds other files than it describes is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from kg_api.errors import ConfigurationError

PROFILE = "kg-model.json"
PREPROCESSOR = "preprocessor_config.json"
TOKENIZER = "tokenizer.json"
DESCRIBE = "python -m kg_api.embed.image.local.describe FOLDER"
_WEIGHTS = (".onnx", ".onnx_data", ".data", ".bin")
"""Endings of files that a model may read."""

Pooling = Literal["none", "cls", "mean"]
"""`none`: the output is one vector; else it has one a part or token, and the first or the mean is taken."""


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
    _hold_to(folder, profile)
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


def _hold_to(folder: Path, profile: ImageModelProfile) -> None:
    found = checksums(folder, profile.used | set(profile.sha256))
    if unknown := sorted(found.keys() - profile.sha256.keys()):
        told = f"{folder / PROFILE} says nothing of {', '.join(unknown)}"
        raise ConfigurationError(f"{told}: remove it, or describe all anew ({DESCRIBE})")
    if others := [name for name, checksum in found.items() if checksum != profile.sha256[name]]:
        raise ConfigurationError(
            f"{folder / others[0]} is another file than {PROFILE} describes (sha256): put the right one "
            "there; or, for another model, make a folder of its own"
        )


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
