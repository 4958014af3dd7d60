"""What weighs how much, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import contingency

from kg_api.discovery import communities
from kg_api.discovery.communities import NEIGHBOURS, Matrix, associate, log_likelihood_ratio


def incidence(rows: Iterable[Iterable[int]], concepts: int) -> Matrix:
    table = [[float(each in set(row)) for each in range(concepts)] for row in rows]
    return sparse.csr_array(np.array(table).reshape(-1, concepts))


@given(both=st.integers(1, 40), one=st.integers(0, 40), other=st.integers(0, 40), neither=st.integers(0, 400))
def test_the_ratio_is_that_of_a_known_library(both: int, one: int, other: int, neither: int) -> None:
    table = np.array([[both, one], [other, neither]])
    first, second, third = (np.array([float(each)]) for each in (both, both + one, both + other))
    found = float(log_likelihood_ratio(first, second, third, float(table.sum()))[0])
    if both * neither <= one * other:
        assert found == 0
    else:
        known: Any = contingency.chi2_contingency(table, correction=False, lambda_="log-likelihood")
        assert math.isclose(found, known.statistic, rel_tol=1e-6, abs_tol=1e-6)


def test_what_is_everywhere_belongs_to_nothing() -> None:
    weights = associate(incidence([(0, 1, 2), (0, 1, 2), (0, 3, 4), (0, 3, 4)], 5)).toarray()
    assert not weights[0].any()
    assert weights[1, 2] > 0 < weights[3, 4]
    assert weights[1, 3] == 0
    assert (weights == weights.T).all()
    assert not weights.diagonal().any()


def test_each_keeps_its_strongest_only_and_a_leaf_keeps_the_hub() -> None:
    leaves = 3 * NEIGHBOURS
    rows = [(0, leaf) for leaf in range(1, leaves + 1)] + [(leaves + 1,)] * 200
    assert (associate(incidence(rows, leaves + 2)).toarray()[0] > 0).sum() == leaves
    crowd = tuple(range(leaves))
    together = [crowd, crowd, *((each, each + leaves) for each in crowd), *([(2 * leaves,)] * 200)]
    kept = (associate(incidence(together, 2 * leaves + 1)).toarray() > 0).sum(axis=1)
    assert kept[leaves - 1] == NEIGHBOURS + 1, "its own partner, and the first of those that are equal"


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(3)
    rows = incidence([dice.choice(60, 5, replace=False).tolist() for _ in range(300)], 60)
    whole = associate(rows).toarray()
    monkeypatch.setattr(communities, "BLOCK", 7)
    assert np.allclose(associate(rows).toarray(), whole)


def test_nothing_has_no_weights() -> None:
    assert associate(incidence([], 3)).nnz == 0
    assert associate(sparse.csr_array((5, 0))).shape == (0, 0)
