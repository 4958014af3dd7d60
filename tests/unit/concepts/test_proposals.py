from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kg_api.concepts.relations import group_similar_types, may_mean
from kg_api.schemas.concepts import choose_stance
from kg_api.schemas.vocabulary import Stance


@dataclass(frozen=True)
class Named:
    name: str

    @property
    def type_id(self) -> str:
        return self.name

    @property
    def stance(self) -> Stance:
        return choose_stance(self.name, None)


def at(degrees: float) -> NDArray[np.float32]:
    return np.asarray([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32) * 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("supports", "contradicts"),
        ("supports", "supported by"),
        ("requires", "required by"),
        ("is", "is not"),
        ("works with", "never works with"),
    ],
)
def test_opposites_are_never_proposed_however_alike(one: str, other: str) -> None:
    assert not may_mean(Named(one), Named(other))
    assert group_similar_types([Named(one), Named(other)], {one: at(0), other: at(0)}, 0.5) == []


def test_type_groups_have_a_representative() -> None:
    types = [Named(each) for each in ("a", "b", "c", "d", "unembedded")]
    vectors = {"a": at(0), "b": at(20), "c": at(38), "d": at(41)}
    groups = group_similar_types(types, vectors, float(np.cos(np.radians(21))))
    assert [(first, [other for other, _ in near]) for first, near in groups] == [(0, [1]), (2, [3])]
    assert groups[0][1][0][1] == pytest.approx(np.cos(np.radians(20)), abs=1e-5)


@given(st.lists(st.integers(0, 359), min_size=1, max_size=20), st.floats(0.5, 0.999))
def test_no_type_is_in_two_groups(angles: list[int], least: float) -> None:
    types = [Named(f"type {number}") for number in range(len(angles))]
    vectors = {each.name: at(angle) for each, angle in zip(types, angles, strict=True)}
    groups = group_similar_types(types, vectors, least)
    placed = [place for first, near in groups for place in (first, *(other for other, _ in near))]
    assert len(placed) == len({*placed})
    assert all(cosine >= least for _, near in groups for _, cosine in near)
