"""The MCP server: tools listed and called. Both transports serve it."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import anyio
import structlog
from anyio.to_thread import run_sync
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from kg_api import __version__
from kg_api.errors import KgError
from kg_api.graph.retrying import read_whole
from kg_api.mcp.answers import InlineImage, ToolAnswer
from kg_api.mcp.catalogue import INSTRUCTIONS, TOOLS
from kg_api.mcp.library import Library
from kg_api.mcp.phrasing import phrase_for_agents
from kg_api.mcp.tool import Tool

log = structlog.get_logger()

AT_ONCE = 8
"""Calls that run side by side in a process; the others wait their turn, and REST keeps its threads."""
MAX_ERROR_LENGTH = 2000
LIST_STAYS_FRESH = CacheHint(ttl_ms=60_000, scope="private")


def make_server(library: Library) -> Server[Any]:
    """Make the server.

    Args:
        library: where the tools find what they give.
    """
    tools = {tool.name: tool for tool in TOOLS}
    described = [tool.described() for tool in TOOLS]
    turns: list[anyio.CapacityLimiter] = []

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=described)

    async def call_tool(_: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            known = ", ".join(tools)
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:100]!r}; there are {known}")
        if not turns:
            turns.append(anyio.CapacityLimiter(AT_ONCE))  # made here, for it belongs to the running loop
        return await run_sync(_call, tool, library, params.arguments or {}, limiter=turns[0])

    return Server(
        "kg",
        title="kg",
        version=__version__,
        description="Finds passages in the user's own documents, with their exact place.",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": LIST_STAYS_FRESH, "server/discover": LIST_STAYS_FRESH},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _call(tool: Tool[Any], library: Library, arguments: dict[str, Any]) -> CallToolResult:
    begun = time.perf_counter()
    result, failure = _outcome(tool, library, arguments)
    took = round((time.perf_counter() - begun) * 1000, 1)
    log.info("tool", tool=tool.name, ms=took, error=failure)
    return result


def _outcome(
    tool: Tool[Any], library: Library, arguments: dict[str, Any]
) -> tuple[CallToolResult, str | None]:
    """The answer, or what went wrong in words that tell the agent what to do; and the error's name."""
    try:
        return _to_result(read_whole(tool.call)(library, arguments)), None
    except KgError as error:
        return _to_error(phrase_for_agents(str(error))), type(error).__name__
    except Exception as error:  # the border of a request: a bug is logged, and gives nothing away
        log.exception("unexpected error", tool=tool.name)
        return _to_error(str(KgError())), type(error).__name__


def _to_result(answer: ToolAnswer) -> CallToolResult:
    """As structured content, and the same as text for clients that know no other; then what is to be seen."""
    said = answer.model_dump(mode="json", exclude_none=True)
    for each in said["degraded"]:
        each["effect"] = phrase_for_agents(each["effect"])
    said |= {name: said.pop(name) for name in ToolAnswer.model_fields if name in said}
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    content: list[ContentBlock] = [TextContent(text=text), *map(_to_block, answer.shown)]
    structured = None if answer.shown else said
    return CallToolResult(content=content, structured_content=structured)


def _to_block(image: InlineImage) -> ImageContent:
    return ImageContent(data=base64.b64encode(image.content).decode(), mime_type=image.content_type)


def _to_error(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=message[:MAX_ERROR_LENGTH])], is_error=True)
