"""Embeds images without a model, using colours, lightness, and edges.

Each function returns a histogram minus its mean. Without this subtraction, the cosine of any two images is
near 0.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import ConfigurationError
from kg_api.providers.embedding_port import Pixels, Rendering, Vectors, normalize_vector
from kg_api.schemas.spaces import SpaceIdentity

Plane = NDArray[np.float64]  # one number per pixel: shape (height, width)
Lab = tuple[Plane, Plane, Plane]

COLOURS = 8  # bins from green to red, and from blue to yellow
LIGHTS = 16
DIRECTIONS = 16
CELLS = 2  # cells per side for edges by place
SCALES = 4
STRENGTHS = 8
_CHROMA = 60.0  # absolute value of a and b in Lab from which a colour counts as the strongest
_FAINT, _STRONG = -4.0, 3.0  # natural logarithms of an edge's strength relative to the mean
_FLOOR = 0.05
_NOTHING = 1e-9
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
) / np.array([[0.95047], [1.0], [1.08883]])  # sRGB under D65, white at 1
_SHADES = np.arange(256) / 255
_DARK_SHADES, _DARK_ROOTS = 0.04045, 0.008856  # limits of the linear parts of sRGB and L*a*b*
_LINEAR = np.where(_SHADES <= _DARK_SHADES, _SHADES / 12.92, ((_SHADES + 0.055) / 1.055) ** 2.4)
_SMOOTH = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def to_lab(pixels: Pixels) -> Lab:
    """Convert to CIE L*a*b*: lightness from 0 to 100, green to red, blue to yellow."""
    xyz = _LINEAR[pixels] @ _TO_XYZ.T
    root = np.where(xyz > _DARK_ROOTS, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = root[..., 0], root[..., 1], root[..., 2]
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def compute_colours(lab: Lab) -> Plane:
    """Compute the histogram for colours without lightness, shape (64,)."""
    at_a, share_a = _find_bins(lab[1], -_CHROMA, _CHROMA, COLOURS)
    at_b, share_b = _find_bins(lab[2], -_CHROMA, _CHROMA, COLOURS)
    found = np.zeros(COLOURS * COLOURS)
    for step_a, weight_a in ((0, 1 - share_a), (1, share_a)):
        for step_b, weight_b in ((0, 1 - share_b), (1, share_b)):
            found += _count((at_a + step_a) * COLOURS + at_b + step_b, weight_a * weight_b, found.size)
    return _center(found)


def compute_lightness_histogram(lab: Lab) -> Plane:
    """Compute the histogram for lightness, shape (16,)."""
    return _center(_spread(lab[0], 0.0, 100.0, LIGHTS))


def compute_cells(lab: Lab) -> Plane:
    """Compute the directions of edges in each quarter, shape (64,). Mirrored images differ."""
    strength, directions = _find_edges(_smooth(lab[0]))
    height, width = strength.shape
    down, across = _compute_weights(height), _compute_weights(width)
    each = [
        _sum_by_direction(strength * down[row][:, None] * across[column], directions)
        for row in range(CELLS)
        for column in range(CELLS)
    ]
    return _center(np.concatenate(each))


def compute_directions(lab: Lab) -> Plane:
    """Compute the directions of edges at all scales, fine to coarse, shape (64,)."""
    found = np.concatenate([_sum_by_direction(*_find_edges(plane)) for plane in _build_scales(lab[0])])
    return _center(found, SCALES)


def compute_edge_histogram(lab: Lab) -> Plane:
    """Compute the distribution of edge strengths at all scales, fine to coarse, shape (32,)."""
    return _center(np.concatenate([_compute_strengths(plane) for plane in _build_scales(lab[0])]), SCALES)


def _compute_strengths(plane: Plane) -> Plane:
    strength, _ = _find_edges(plane)
    beside_mean = np.log((strength + _FLOOR) / (strength.mean() + _FLOOR))
    return _spread(beside_mean, _FAINT, _STRONG, STRENGTHS)


def _build_scales(plane: Plane) -> list[Plane]:
    found = [plane]
    for _ in range(SCALES - 1):
        found.append(_smooth(_smooth(found[-1]))[::2, ::2])
    return found


def _smooth(plane: Plane) -> Plane:
    return _smooth_rows(_smooth_rows(plane).T).T


def _smooth_rows(plane: Plane) -> Plane:
    """Smooth each row."""
    wide, width = np.pad(plane, ((0, 0), (2, 2)), mode="edge"), plane.shape[1]
    return np.sum([weight * wide[:, at : at + width] for at, weight in enumerate(_SMOOTH)], axis=0)


def _find_edges(plane: Plane) -> tuple[Plane, Plane]:
    """Compute the strength and direction of the edge at each pixel, in sixteenths of a turn."""
    wide = np.pad(plane, 1, mode="edge")
    right, down = wide[1:-1, 2:] - wide[1:-1, :-2], wide[2:, 1:-1] - wide[:-2, 1:-1]
    turns = np.arctan2(down, right) / (2 * np.pi) % 1.0
    return np.hypot(right, down) / 2, turns * DIRECTIONS


def _sum_by_direction(strength: Plane, turns: Plane) -> Plane:
    """Sum strengths by direction. If a value is between two bins, it is divided."""
    at = np.floor(turns)
    share, first = turns - at, at.astype(np.intp) % DIRECTIONS
    one = _count(first, strength * (1 - share), DIRECTIONS)
    return one + _count((first + 1) % DIRECTIONS, strength * share, DIRECTIONS)


def _compute_weights(side: int) -> Plane:
    """Compute linear weights from the pixels on a side to each cell, shape (cells, side)."""
    places = (np.arange(side) + 0.5) / side * CELLS - 0.5
    clipped = np.clip(places, 0, CELLS - 1)
    return np.maximum(0.0, 1 - np.abs(clipped - np.arange(CELLS)[:, None]))


def _spread(values: Plane, low: float, high: float, bins: int) -> Plane:
    at, share = _find_bins(values, low, high, bins)
    return _count(at, 1 - share, bins) + _count(at + 1, share, bins)


def _find_bins(values: Plane, low: float, high: float, bins: int) -> tuple[NDArray[np.intp], Plane]:
    """Find the lower bin for each value, and the share to use in the next bin."""
    places = np.clip((values - low) / (high - low) * (bins - 1), 0, bins - 1)
    at = np.minimum(places.astype(np.intp), bins - 2)
    return at, places - at


def _count(at: NDArray[np.intp], weights: Plane, bins: int) -> Plane:
    counted: Any = np.bincount(at.ravel(), weights.ravel(), bins)
    return counted


def _center(amounts: Plane, parts: int = 1) -> Plane:
    """Use square roots to limit large amounts, subtract the mean from each part, and scale to length 1.

    An image without such features, such as a white page without edges, gives zeros.
    """
    roots = np.sqrt(amounts).reshape(parts, -1)
    found = (roots - roots.mean(axis=1, keepdims=True)).ravel()
    length = float(np.linalg.norm(found))
    return found / length if length > _NOTHING else np.zeros_like(found)


# Checks of input images

CHANNELS = 3


def fits(shape: tuple[int, ...], rendering: Rendering) -> bool:
    """Check if an image with this shape can be used for a rendering."""
    height, width = shape[:2]
    if rendering.fit == "within":
        return 1 <= width <= rendering.width and 1 <= height <= rendering.height
    return (width, height) == (rendering.width, rendering.height)


# Histogram model: offline, deterministic, without semantics
#
# It finds the original of a cropped, scaled, re-encoded or grey image, and images that look alike. It cannot
# separate a cat from a dog. benchmarks/image_embedders.py measures it.

MODEL: Final = "colours-and-edges"
REVISION: Final = "1"
RENDERING = Rendering(128, 128, "stretch")
WEIGHTS = {"colours": 0.5, "lights": 0.4, "cells": 0.7, "directions": 0.5, "strengths": 0.3}
"""Chosen using sample photographs, confirmed on both halves: benchmarks/results/files.md."""
DIMENSIONS: Final = 240
BATCH = 64


def compute_blocks(pixels: Pixels) -> dict[str, NDArray[np.float64]]:
    """Compute the blocks of features by name, without weights."""
    lab = to_lab(pixels)
    return {
        "colours": compute_colours(lab),
        "lights": compute_lightness_histogram(lab),
        "cells": compute_cells(lab),
        "directions": compute_directions(lab),
        "strengths": compute_edge_histogram(lab),
    }


class HistogramEmbedder:
    """Embedder that uses histograms for colour, lightness, and edges.

    Thread-safe, because it has no state.
    """

    identity = SpaceIdentity("histogram", MODEL, REVISION, DIMENSIONS, max_tokens=0, modality="image")
    rendering = RENDERING
    batch_size = BATCH

    def embed_images(self, images: Sequence[Pixels]) -> Vectors:
        vectors = np.empty((len(images), DIMENSIONS), dtype=np.float32)
        for i, image in enumerate(images):
            weighted = [WEIGHTS[name] * block for name, block in compute_blocks(image).items()]
            vectors[i] = normalize_vector(np.concatenate(weighted), DIMENSIONS)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:  # noqa: ARG002 - the model reads no text
        raise ConfigurationError(
            f"the image model {MODEL} (histogram) cannot embed text. Search images by their text, or "
            "choose a vision model (KG_IMAGE_EMBEDDING__PROVIDER)"
        )

    def close(self) -> None:
        """Do nothing."""
