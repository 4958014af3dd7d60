"""A tool is called again where a node was deleted in the middle of its read."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kg_api.graph.client import READ_AGAIN_TIMES
from kg_api.mcp.library import Library
from kg_api.mcp.server import _outcome  # pyright: ignore[reportPrivateUsage]
from kg_api.mcp.tool import Tool, ToolAnswer


class Failing:
    """A tool that fails so many times first."""

    name = "failing"

    def __init__(self, failures: int) -> None:
        self.left = failures

    def call(self, _library: Library, _arguments: dict[str, Any]) -> ToolAnswer:
        """Fail, or answer."""
        self.left -= 1
        if self.left >= 0:
            raise TypeError("null")
        return ToolAnswer()


@pytest.mark.parametrize(
    ("failures", "error"), [(0, None), (READ_AGAIN_TIMES, None), (1 + READ_AGAIN_TIMES, "TypeError")]
)
def test_a_tool_is_called_again(failures: int, error: str | None) -> None:
    tool = cast("Tool[Any]", Failing(failures))
    result, failure = _outcome(tool, cast("Library", None), {})
    assert failure == error
    assert bool(result.is_error) == (error is not None)
