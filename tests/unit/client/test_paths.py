"""Ids and names as parts of a path: those that would lead elsewhere."""

from __future__ import annotations

import pytest

from kg_api.client.call import path_of
from kg_api.errors import InvalidInput


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_id_is_told_before_anything_is_sent(blank: str) -> None:
    with pytest.raises(InvalidInput, match="an id or a name was expected, but it is blank"):
        path_of("ontologies", "notes", "communities", blank)


def test_an_id_of_dots_stays_where_it_is() -> None:
    assert path_of("jobs", "..") == "/jobs/%2E%2E"
    assert path_of("jobs", ".") == "/jobs/%2E"
    assert path_of("documents", "notes/..") == "/documents/notes%2F.."
    assert path_of("documents", "a.md") == "/documents/a.md"
