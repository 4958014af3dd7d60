from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.search import source_graph
from kg_api.search.source_graph import Vectors, nearest_pairs

SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=14)


def made(seed: int, counts: list[int]) -> list[list[source_graph.Floats]]:
    """Vectors of any length for sources that have so many each."""
    dice = np.random.default_rng(seed)
    return [[(dice.normal(size=4) * 3).astype(np.float32) for _ in range(count)] for count in counts]


def cosine(a: source_graph.Floats, b: source_graph.Floats) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def by_hand(
    parts: list[list[source_graph.Floats]], documents: list[str], k: int, least: float | None, *, across: bool
) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], float] = {}
    for a, own in enumerate(parts):
        near = {
            b: max(cosine(x, y) for x in own for y in other)
            for b, other in enumerate(parts)
            if b != a and not (across and documents[a] == documents[b])
        }
        best = sorted(near.items(), key=lambda each: -each[1])[:k]
        found |= {(min(a, b), max(a, b)): s for b, s in best if least is None or s >= least}
    return found


@given(SEEDS, COUNTS, st.integers(1, 5), st.none() | st.floats(-0.9, 0.9), st.booleans())
def test_the_pairs_are_those_of_comparing_one_by_one(
    seed: int, counts: list[int], k: int, least: float | None, across: bool
) -> None:
    parts = made(seed, counts)
    documents = ["abc"[(seed >> at) % 3] for at in range(len(parts))]
    found = nearest_pairs(Vectors.of(parts), documents, k, least, across=across)
    assert found == pytest.approx(by_hand(parts, documents, k, least, across=across), abs=1e-5)
    assert all(a < b for a, b in found)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = made(1, [1, 3, 2, 1, 1, 2, 1])
    whole = nearest_pairs(Vectors.of(parts), ["a", "b"] * 3 + ["c"], 2, None, across=True)
    monkeypatch.setattr(source_graph, "BLOCK", 3)
    assert nearest_pairs(Vectors.of(parts), ["a", "b"] * 3 + ["c"], 2, None, across=True) == pytest.approx(
        whole, abs=1e-6
    )


def test_one_source_has_no_edge() -> None:
    assert nearest_pairs(Vectors.of(made(0, [2])), ["a"], 3, None, across=False) == {}
