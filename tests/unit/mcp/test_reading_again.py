"""A tool is called again where a node was deleted in the middle of its read."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kg_api.graph.client import READ_AGAIN_TIMES
from kg_api.mcp.answers import Item
from kg_api.mcp.tool import Tool
from tests.support.library import MemoryLibrary


class Failing:
    """A tool that fails so many times first."""

    name = "failing"

    def __init__(self, failures: int) -> None:
        self.left = failures

    def call(self, _library: object, _arguments: dict[str, Any]) -> tuple[Item, list[bytes]]:
        """Fail, or answer."""
        self.left -= 1
        if self.left >= 0:
            raise TypeError("null")
        return {}, []


@pytest.mark.parametrize(
    ("failures", "fails"), [(0, False), (READ_AGAIN_TIMES, False), (1 + READ_AGAIN_TIMES, True)]
)
def test_a_tool_is_called_again(failures: int, fails: bool) -> None:
    tool = cast("Tool[Any]", Failing(failures))
    result = MemoryLibrary().call(tool, {})
    assert bool(result.is_error) == fails
