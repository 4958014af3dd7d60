"""From vectors to two dimensions, by the principal components of a part of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
AXES: Final = 2
DIRECTIONS: Final = 10
"""That are turned together: the more of them, the fewer rounds."""
ROUNDS: Final = 12


@dataclass(frozen=True, slots=True)
class Projection:
    """Two axes through the middle of some vectors: those along which they differ most."""

    middle: NDArray[np.float64]
    """Shape (dimensions,)."""
    axes: NDArray[np.float64]
    """Shape (2, dimensions), of length 1 and at right angles; the first has most of the variance."""
    explained: tuple[float, float]
    """The share of the variance that each axis has, 0 to 1."""

    @classmethod
    def of(cls, vectors: Floats) -> Projection:
        """Principal component analysis (Pearson 1901), by subspace iteration (Halko et al. 2011).

        A few directions, the same to begin with each time, are turned towards those of most variance with
        each round; the covariance matrix itself, of dimensions squared, is never made. An axis may as well
        point the other way: here its largest component is positive, so that the same vectors are shown in
        the same way each time, and not as a mirror image (as scikit-learn's svd_flip).

        Args:
            vectors: shape (at least 1, at least 2).
        """
        middle = vectors.mean(axis=0, dtype=np.float64)
        apart = (vectors - middle).astype(np.float32)
        basis = _directions(apart)
        _, lengths, turned = np.linalg.svd(apart @ basis, full_matrices=False)
        axes = np.zeros((AXES, apart.shape[1]))  # of a single vector there is one direction
        axes[: len(turned)] = turned[:AXES] @ basis.T
        largest = np.abs(axes).argmax(axis=1)
        axes *= np.where(axes[np.arange(AXES), largest] < 0, -1.0, 1.0)[:, None]
        total = float(np.square(apart).sum()) or 1.0
        first, second, *_ = [*map(float, np.square(lengths) / total), 0.0]
        return cls(middle, axes, (first, second))

    def points(self, vectors: Floats) -> NDArray[np.float64]:
        """Where vectors are on the axes: shape (vectors, 2)."""
        return (vectors - self.middle) @ self.axes.T


def _directions(apart: Floats) -> Floats:
    """Some at right angles, among which those of most variance are: shape (dimensions, few)."""
    dimensions = apart.shape[1]
    begin = np.random.default_rng(0).standard_normal((dimensions, min(DIRECTIONS, dimensions)))
    basis = begin.astype(np.float32)
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(apart.T @ (apart @ basis))
    return basis


def fitted(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points within -1 to 1, both axes on one scale."""
    furthest = np.abs(points).max() if len(points) else 0.0
    return points / furthest if furthest else points
