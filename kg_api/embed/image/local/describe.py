"""Writes kg-model.json: python -m kg_api.embed.image.local.describe FOLDER [--query-prefix "search_query: "].

What the files say themselves is read from them; what they do not say is an option.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.image.local.preprocessing import read_preprocessing
from kg_api.embed.image.local.profile import (
    PREPROCESSOR,
    TOKENIZER,
    ImageModelProfile,
    PictureTowerProfile,
    Pooling,
    TextTowerProfile,
    checksums,
    write_profile,
)
from kg_api.embed.image.local.towers import output_names, padded_ids, typed_feed
from kg_api.embed.image.probe import probe_picture
from kg_api.errors import ConfigurationError, KgError
from kg_api.onnx_sessions import KNOWN_INPUTS, PICTURE_INPUTS, load_session

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
    ids, mask = padded_ids([1] * 4, pad_to, pad_id)
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    output, shape = _tried(folder / file, KNOWN_INPUTS, feed)
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
    session, inputs = load_session(path, known)
    names = output_names(session)
    output = next((name for name in _OUTPUTS if name in names), names[0])
    found = session.run([output], typed_feed(session, {name: feed[name] for name in inputs}))[0]
    return output, found.shape[1:]


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


if __name__ == "__main__":
    main()
