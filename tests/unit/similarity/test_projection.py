"""Two axes through vectors."""

from __future__ import annotations

import numpy as np
import pytest

from kg_api.search.passage_map import Projection, fitted

random = np.random.default_rng(3)


def test_the_axes_are_those_along_which_vectors_differ_most() -> None:
    """Points that were laid out along two directions of nine, turned, come out as they were laid."""
    turned, _ = np.linalg.qr(random.standard_normal((9, 9)))
    laid = random.standard_normal((500, 9)) * np.array([9, 4, *[0.01] * 7])
    vectors = (laid @ turned.T + 5).astype(np.float32)
    found = Projection.of(vectors)
    assert np.abs(found.axes @ turned[:, :2]) == pytest.approx(np.eye(2), abs=0.05)
    variances = laid.var(axis=0)
    assert found.explained == pytest.approx(tuple(variances[:2] / variances.sum()), abs=0.01)
    assert np.abs(found.points(vectors)[:, 0]) == pytest.approx(
        np.abs(laid[:, 0] - laid[:, 0].mean()), abs=0.3
    )


def test_a_picture_is_never_mirrored() -> None:
    vectors = random.standard_normal((50, 6)).astype(np.float32)
    first, again = Projection.of(vectors), Projection.of(vectors[::-1].copy())
    assert again.axes == pytest.approx(first.axes, abs=1e-6)
    for axis in first.axes:
        assert axis[np.abs(axis).argmax()] > 0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_vectors_or_equal_ones_have_a_place_too(count: int) -> None:
    vectors = np.tile(np.array([1, 0, 0], dtype=np.float32), (count, 1))
    found = Projection.of(vectors)
    assert fitted(found.points(vectors)) == pytest.approx(np.zeros((count, 2)))
    assert found.explained == (0, 0)


def test_points_fill_the_picture_on_one_scale() -> None:
    assert fitted(np.array([[4.0, 1.0], [-2.0, 0.0]])).tolist() == [[1, 0.25], [-0.5, 0]]
    assert fitted(np.empty((0, 2))).shape == (0, 2)
