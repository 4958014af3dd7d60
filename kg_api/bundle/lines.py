"""Reading lines of a bundle one by one. Pure."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from pydantic import ValidationError

from kg_api.errors import InvalidInput
from kg_api.models.bundle.lines import LINE, MAX_LINE_BYTES, BundledLine
from kg_api.models.bundle.manifest import FORMAT
from kg_api.models.problems import describe_problems

CheckBounds = Callable[[bytes], None]
"""Refuses JSON that is nested too deeply or has too many values, by a ValueError."""
NUMBERS = "<f4"
FLOAT_BYTES = 4
LENGTH_TOLERANCE = 0.01


def require_format(told: int, by: str = "") -> None:
    """See that a bundle is of the format that is read here.

    Args:
        told: the format that it says it has.
        by: who wrote it, for the message.

    Raises:
        InvalidInput: it is of another one.
    """
    if told != FORMAT:
        raise InvalidInput(f"the bundle is of format {told}{by}; this kg reads format {FORMAT}")


def read_line(raw: bytes, check_bounds: CheckBounds) -> BundledLine:
    """A line of a bundle.

    Raises:
        InvalidInput: saying what is wrong with it.
    """
    if len(raw) > MAX_LINE_BYTES:
        raise InvalidInput(f"it is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        check_bounds(raw)
        return LINE.validate_json(raw)
    except ValidationError as error:
        raise InvalidInput(describe_problems(error.errors(include_url=False, include_input=False))) from None
    except ValueError as error:
        raise InvalidInput(f"it {error}") from None


def read_lines(content: bytes, check_bounds: CheckBounds) -> Iterator[BundledLine]:
    """The lines of a part of a file.

    Raises:
        InvalidInput: naming the first line that is wrong.
    """
    for number, raw in enumerate(content.rstrip(b"\n").split(b"\n"), start=1):
        try:
            yield read_line(raw, check_bounds)
        except InvalidInput as error:
            raise InvalidInput(f"line {number}: {error}") from None


def pack(vector: Sequence[float]) -> str:
    """A vector as a line has it: base64 of 32-bit floats, the lowest byte first."""
    return base64.b64encode(np.asarray(vector, dtype=NUMBERS).tobytes()).decode()


def unpack(vector: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """A vector of a line.

    Raises:
        InvalidInput: it is none that an index takes.
    """
    content = base64.b64decode(vector)
    if len(content) % FLOAT_BYTES:
        raise InvalidInput("a vector is no row of 32-bit floats")
    values = np.frombuffer(content, dtype=NUMBERS).astype(np.float32)
    if not np.isfinite(values).all():
        raise InvalidInput("a vector holds NaN or infinite values")
    if not values.any():
        raise InvalidInput("a vector is zero; it has no direction")
    length = float(np.linalg.norm(values.astype(np.float64)))
    if abs(length - 1) > LENGTH_TOLERANCE:
        raise InvalidInput(f"a vector has the length {length:.3g}; every vector of kg has length 1")
    return values
