from __future__ import annotations

from typing import Any

import pytest

from kg_api.web.ui.routes.library import read_edited_metadata

BEFORE: dict[str, Any] = {"tags": ["a", "b"], "author": "Ada", "year": 2024, "draft": True, "empty": None}


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({}, {}),
        ({"tags": "a\r\nb\r\n", "author": "Ada", "year": "2024", "draft": "true", "empty": ""}, {}),
        ({"tags": "a\r\n c "}, {"tags": ["a", "c"]}),
        ({"tags": "2024\nb"}, {"tags": ["2024", "b"]}),
        ({"tags": " "}, {"tags": None}),
        ({"author": ""}, {"author": None}),
        ({"year": "2025", "draft": "false"}, {"year": 2025, "draft": False}),
        ({"author": "'2025'"}, {"author": "2025"}),
        ({" editor ": "Bob", "": "lost"}, {"editor": "Bob"}),
        ({"author": "Ada\nBob"}, {"author": ["Ada", "Bob"]}),
    ],
)
def test_only_edited_values_are_changed(given: dict[str, str], changed: dict[str, Any]) -> None:
    assert read_edited_metadata(BEFORE, [*given], [*given.values()]) == changed


def test_list_in_other_field_without_tags_stays() -> None:
    assert read_edited_metadata({"authors": ["Ada"]}, ["authors", "tags"], ["Ada", "x"]) == {"tags": ["x"]}
