"""Fields that no document has, and the suggestions for them."""

from __future__ import annotations

import pytest

from kg_api.errors import InvalidInput
from kg_api.graph.filters import describe_missing_keys


@pytest.mark.parametrize(
    ("key", "known", "message"),
    [
        ("title", [], r"'metadata\.title'; the nearest: 'title'$"),
        ("uri", ["author"], r"'metadata\.uri'; the nearest: 'uri'$"),
        ("titel", ["title"], r"'titel'; the nearest: 'title', 'metadata\.title'$"),
        ("auhtor", ["author"], r"'auhtor'; the nearest: 'author'$"),
    ],
)
def test_missing_key_suggests_fields_as_written(key: str, known: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        describe_missing_keys([key], known)


def test_stored_key_of_a_known_name_is_no_problem() -> None:
    assert describe_missing_keys(["title"], ["title"]) == []
    assert [each.effect for each in describe_missing_keys(["zz"], ["title"])] == [
        "no document has the field 'zz'"
    ]
