"""A text whose vector is known: it tells another model under the same name (SPEC D6). Pure."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import OtherModel
from kg_api.graph.spaces.registry import Space, display_name

PROBE_TEXT: Final = (
    "Where does the fox keep the seven red apples that it found behind the old mill in winter?"
)

MIN_COSINE: Final = 0.98
"""Providers' answers vary a little from call to call, and quantised weights from one processor to another;
two models differ by far more (docs/benchmarks.md)."""


def check_probe(space: Space, answered: NDArray[np.float32]) -> None:
    """Compare what the model answers to the probe text with what it answered when the space was made.

    Raises:
        OtherModel: it is another one.
    """
    if space.probe is None:
        return
    cosine = float(np.dot(space.probe.astype(np.float64), answered.astype(np.float64)))
    if cosine < MIN_COSINE:
        raise OtherModel(
            f"another model answers under the name of the space {space.slug!r} "
            f"({display_name(space.identity)}): "
            f"its probe text has the cosine {cosine:.3f} with what it was when the space was made, and at "
            f"least {MIN_COSINE} is the same model. Vectors of both cannot be compared. Let the old model "
            "answer again, or make a further space for the new one: kg admin spaces create"
        )
