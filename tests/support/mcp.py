import json
from collections.abc import Awaitable, Callable, Generator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ImageContent, TextContent

from kg_api.mcp.server import INSTRUCTIONS, TOOLS

T = TypeVar("T")
Target = Server[Any] | StdioServerParameters | str
CURRENT, BEFORE = "2026-07-28", "2025-11-25"
MODES = {CURRENT: CURRENT, BEFORE: "legacy"}
"""Options for a client that uses this version of the protocol."""
SNAPSHOT = Path(__file__).parents[1] / "unit" / "mcp" / "told.snapshot.json"


def talk(target: Target, doing: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    """Connect, run the function, and disconnect. Protocol errors are not raised in an exception group."""

    async def run() -> T:
        async with Client(target, mode=mode, read_timeout_seconds=60) as client:
            try:
                return await doing(client)
            except MCPError as error:
                caught = error
        raise caught

    return anyio.run(run)


def call(target: Target, tool: str, mode: str = "auto", /, **arguments: Any) -> CallToolResult:
    """Connect to call a tool. The client of the SDK uses the schema of the tool to check the answer."""

    async def doing(client: Client) -> CallToolResult:
        await client.list_tools()
        return await client.call_tool(tool, arguments or None)

    return talk(target, doing, mode)


def answer(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    if len(result.content) > 1:  # pictures: clients show either them or the structure
        assert result.structured_content is None
        return json.loads(text_of(result))
    assert isinstance(result.structured_content, dict)
    assert json.loads(text_of(result)) == result.structured_content
    return result.structured_content


def failure(result: CallToolResult) -> str:
    assert result.is_error
    assert result.structured_content is None
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    """Return the only text in a result. There can be images after it."""
    content, *others = result.content
    assert all(isinstance(each, ImageContent) for each in others)
    assert isinstance(content, TextContent)
    return content.text


def walk(
    asking: Callable[[Mapping[str, Any]], dict[str, Any]], arguments: dict[str, Any], most: int = 1000
) -> Generator[dict[str, Any]]:
    more: dict[str, Any] | None = {}
    for _ in range(most):
        told = asking({**arguments, **({"cursor": more["cursor"]} if more else {})})
        yield told
        more = told.get("more")
        if more is None:
            return
    raise AssertionError("the walk does not end")


def told() -> dict[str, Any]:
    tools = [
        tool.describe().model_dump(mode="json", by_alias=True, exclude_none=True) for tool in TOOLS.values()
    ]
    return {"instructions": INSTRUCTIONS, "tools": tools}


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(told(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
