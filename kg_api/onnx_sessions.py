"""ONNX models with one thread per call. Only this module imports onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError, EmbeddingFailed

KNOWN_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
"""Inputs of text models."""
PICTURE_INPUTS = frozenset({"pixel_values"})
_state: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")  # compiled, so without types
ORT_ERRORS: tuple[type[Exception], ...] = (
    _state.Fail,
    _state.InvalidArgument,
    _state.InvalidGraph,
    _state.InvalidProtobuf,
    _state.NoSuchFile,
    _state.NotImplemented,
    _state.RuntimeException,
)  # without a common base class
_HALF = "tensor(float16)"


def load_session(path: Path, known: frozenset[str] = KNOWN_INPUTS) -> tuple[Any, set[str]]:
    """Load a session and its input names. Raise ConfigurationError for unusable models."""
    options = cast("Any", onnxruntime.SessionOptions())
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # exceptions report errors
    try:
        made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except ORT_ERRORS as error:
        raise ConfigurationError(f"{path} is not a usable ONNX model: {error}") from error
    session = cast("Any", made)
    inputs = {str(node.name) for node in session.get_inputs()}
    if not inputs <= known:
        raise ConfigurationError(f"{path} needs {sorted(inputs)}, but kg passes {sorted(known)}")
    return session, inputs


class Graph:
    """Model that embeds, with one output. Thread-safe.

    Each call has one input and one ONNX thread. In a batch, the dynamic quantisation of an int8 model would
    make a vector depend on its neighbours. With several threads, it would depend on how they share the work.
    """

    def __init__(
        self, path: Path, known: frozenset[str] = KNOWN_INPUTS, preferred: Sequence[str] = ()
    ) -> None:
        """Load a model and select the first available of the preferred outputs, or the first output."""
        self._session, self.inputs = load_session(path, known)
        outputs = [str(node.name) for node in self._session.get_outputs()]
        self._types = {str(node.name): str(node.type) for node in self._session.get_inputs()}
        self.output = next((name for name in preferred if name in outputs), outputs[0])

    def run(self, given: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Return the output for one input without the batch dimension. Unknown inputs are ignored."""
        feed = {
            name: given[name].astype(np.float16) if self._types[name] == _HALF else given[name]
            for name in self.inputs
        }
        try:
            states = self._session.run([self.output], feed)[0]
        except ORT_ERRORS as error:
            raise EmbeddingFailed(f"the model does not run: {error}") from error
        if not states.ndim or states.shape[0] != 1:
            raise EmbeddingFailed(f"the model's output {self.output} has shape {states.shape} for one input")
        return states[0].astype(np.float32, copy=False)
