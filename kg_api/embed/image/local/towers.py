"""The two halves of a picture model: one reads pictures, the other words, into the same space."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.image.local.preprocessing import Preprocessing
from kg_api.embed.image.local.profile import PictureTowerProfile, Pooling, TextTowerProfile
from kg_api.embed.image.port import Pixels
from kg_api.embed.port import Vectors
from kg_api.embed.text.spans import TokenMeasure
from kg_api.embed.text.tokens import measure
from kg_api.embed.text.wordpiece import WordPiece
from kg_api.embed.vectors import too_long, unit
from kg_api.errors import ConfigurationError, EmbeddingFailed
from kg_api.onnx_sessions import KNOWN_INPUTS, ORT_ERRORS, PICTURE_INPUTS, Session, load_session

_HALF = "tensor(float16)"


class _Graph:
    """A model and the one output that is used of it. Thread-safe."""

    def __init__(self, path: Path, known: frozenset[str], output: str) -> None:
        self._session, self.inputs = load_session(path, known)
        self._output = output
        outputs = output_names(self._session)
        if output not in outputs:
            raise ConfigurationError(f"{path} gives {', '.join(outputs)}, not {output}")

    def run(self, given: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """The output for one picture or text, without the dimension of batches."""
        feed = typed_feed(self._session, given)
        try:
            states = self._session.run([self._output], feed)[0]
        except ORT_ERRORS as error:
            raise EmbeddingFailed(f"the model does not run: {error}") from error
        if not states.ndim or states.shape[0] != 1:
            raise EmbeddingFailed(f"the model's output {self._output} has shape {states.shape} for one input")
        return states[0].astype(np.float32)


class PictureTower:
    """Pictures to vectors, one a call: of an int8 model a vector would depend on the others of its batch."""

    def __init__(
        self, folder: Path, profile: PictureTowerProfile, preprocessing: Preprocessing, dimensions: int
    ) -> None:
        self._graph = _Graph(folder / profile.file, PICTURE_INPUTS, profile.output)
        self._pooling: Pooling = profile.pooling
        self._preprocessing = preprocessing
        self._dimensions = dimensions

    def vector(self, pixels: Pixels) -> Vectors:
        """Embed one picture.

        Raises:
            EmbeddingFailed: the model gave no usable vector.
        """
        states = self._graph.run({"pixel_values": self._preprocessing.values(pixels)})
        return unit(pooled(states, self._pooling), self._dimensions)


class TextTower:
    """Words to vectors, one text a call."""

    def __init__(self, folder: Path, profile: TextTowerProfile, dimensions: int) -> None:
        self._graph = _Graph(folder / profile.file, KNOWN_INPUTS, profile.output)
        self._tokenizer = WordPiece(folder / profile.tokenizer)
        self._profile = profile
        self._dimensions = dimensions

    def vector(self, text: str) -> Vectors:
        """Embed one text, its prefix included.

        Raises:
            InvalidInput: it is longer than the model takes.
            EmbeddingFailed: the model gave no usable vector.
        """
        ids = self._ids(text)
        padded, mask = padded_ids(ids, self._profile.pad_to, self._profile.pad_id)
        given = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(padded)}
        states = self._graph.run({name: given[name] for name in self._graph.inputs})
        own = states[: len(ids)] if self._profile.pooling == "mean" else states
        return unit(pooled(own, self._profile.pooling), self._dimensions)

    def measure(self, before: str) -> TokenMeasure:
        """How long texts are, in tokens, when they stand behind `before`.

        Raises:
            InvalidInput: `before` leaves no room.
        """
        return measure(self._tokenizer, self._profile.max_tokens, before)

    def _ids(self, text: str) -> list[int]:
        most = self._profile.max_tokens
        if len(text) > self._tokenizer.max_characters(most):
            raise too_long(most)
        ids, _ = self._tokenizer.encoded(text)
        if len(ids) > most:
            raise too_long(most)
        return ids


def output_names(session: Session) -> list[str]:
    """What a model gives, in its order."""
    return [str(node.name) for node in session.get_outputs()]


def typed_feed(session: Session, given: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Numbers of the width that a model wants: some take halves."""
    types = {str(node.name): str(node.type) for node in session.get_inputs()}
    return {
        name: values.astype(np.float16) if types.get(name) == _HALF else values
        for name, values in given.items()
    }


def padded_ids(
    ids: list[int], length: int | None, pad_id: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token ids and which of them are a text's own, both of shape (1, tokens)."""
    room = max(0, (length or 0) - len(ids))
    padded = np.array([ids + [pad_id] * room], dtype=np.int64)
    return padded, np.array([[1] * len(ids) + [0] * room], dtype=np.int64)


def pooled(states: NDArray[np.float32], pooling: Pooling) -> NDArray[np.floating[Any]]:
    """One vector of a model's output for one input."""
    if pooling == "none":
        return states
    if states.ndim != 2 or not len(states):  # noqa: PLR2004 - parts or tokens, and their width
        raise EmbeddingFailed(
            f"the model's output has shape {states.shape}, and no {pooling} can be taken of it"
        )
    return states[0] if pooling == "cls" else states.mean(axis=0, dtype=np.float64)
