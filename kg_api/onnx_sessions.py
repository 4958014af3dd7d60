"""ONNX models, each run in one thread a call. Only this module imports onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError

KNOWN_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
"""Of models that read text."""
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
)
"""They have no class of their own in common."""


class Session(Protocol):
    """The part of onnxruntime.InferenceSession, which has no types, that is used here."""

    def get_inputs(self) -> list[Any]:
        """What the graph wants, each with a `name` and a `type`."""
        ...

    def get_outputs(self) -> list[Any]:
        """What the graph gives, each with a `name` and a `shape`."""
        ...

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, NDArray[Any]]
    ) -> list[NDArray[np.float32]]:
        """The outputs of the graph that are named, or all."""
        ...


def load_session(path: Path, known: frozenset[str] = KNOWN_INPUTS) -> tuple[Session, set[str]]:
    """Load a transformer.

    Args:
        path: of its file.
        known: the inputs that it may want.

    Returns:
        The session, and the names of its inputs, all of them known.

    Raises:
        ConfigurationError: the file is no usable model, or wants other inputs.
    """
    options = cast("Any", onnxruntime.SessionOptions())
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors come as exceptions; the log would only repeat them
    try:
        made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except ORT_ERRORS as error:
        raise ConfigurationError(f"{path} is not a usable ONNX model: {error}") from error
    session = cast("Session", made)
    inputs = {str(node.name) for node in session.get_inputs()}
    if not inputs <= known:
        raise ConfigurationError(f"{path} wants {sorted(inputs)}, kg gives {sorted(known)}")
    return session, inputs
