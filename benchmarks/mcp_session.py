"""An agent's session over MCP on PEPs, and the proof that every citation in it resolves.

    KG_HOME=... kg up && kg ingest ../shared/data/python_peps/rst --ontology python_peps --wait
    KG_HOME=... python -m benchmarks.mcp_session            # over `kg mcp`, standard input and output
    KG_HOME=... python -m benchmarks.mcp_session --http http://127.0.0.1:8420/mcp

Prints requests and answers as Markdown, with shortened texts. The agent's decisions are fixed here, and the
answers are real. Then reads each citation of an answer again with get_source_context, and compares its text
with the document's own text over REST. Exits with 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent

from kg_cli.terminal.connect import open_client

ONTOLOGY = "python_peps"
QUESTION = "why do dictionaries have an operator to merge them, when there was update()"
SHOWN = 160
CITING = ("citation", "matched", "parent", "source")


class Session:
    """Asks, shows, and remembers what was cited."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.cited: dict[str, str | None] = {}
        """Every citation, and the text that was given with it."""

    async def ask(self, tool: str, *, shown: bool = True, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        result = await self._client.call_tool(tool, arguments)
        if result.is_error or not isinstance(result.structured_content, dict):
            text = " ".join(each.text for each in result.content if isinstance(each, TextContent))
            if shown:
                show(tool, arguments, {"isError": True, "text": text})
            return {"error": text}
        answer: dict[str, Any] = result.structured_content
        self.cited.update(citations(answer))
        if shown:
            show(tool, arguments, answer)
        return answer


def citations(value: Any) -> Iterator[tuple[str, str | None]]:
    """All citations of an answer, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from citations(each)
    elif isinstance(value, dict):
        for name in CITING:
            if name in value:
                yield value[name], value.get("text") if name == "citation" else None
        for each in value.values():
            yield from citations(each)


def show(tool: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
    """Print a call."""
    body = json.dumps(shortened(answer), indent=1, ensure_ascii=False)
    print(f"**{tool}** `{json.dumps(arguments, ensure_ascii=False)}`\n\n```json\n{body}\n```\n")


def shortened(value: Any) -> Any:
    """The same with long texts cut, and of long lists the first two."""
    if isinstance(value, str):
        return value if len(value) <= SHOWN else f"{value[:SHOWN]}… ({len(value)} characters)"
    if isinstance(value, list):
        rest = [f"… {len(value) - 2} more"] if len(value) > 2 else []
        return [*map(shortened, value[:2]), *rest]
    if isinstance(value, dict):
        return {name: shortened(each) for name, each in value.items()}
    return value


async def session(client: Client) -> dict[str, str | None]:
    """What an agent does with a question."""
    talk = Session(client)
    print(f"Protocol {client.protocol_version}. The user asks: *{QUESTION}?*\n")
    await talk.ask("list_ontologies")
    found = await talk.ask(
        "search_sources", query=QUESTION, ontologies=[ONTOLOGY], limit=5, token_budget=1500
    )
    while "more" in found:
        more = {"cursor": found["more"]["cursor"]}
        found = await talk.ask(
            "search_sources", query=QUESTION, ontologies=[ONTOLOGY], limit=5, token_budget=1500, **more
        )
    best = next(iter(talk.cited))
    await talk.ask("get_source_context", citation=best, window=1)
    await talk.ask("find_similar_sources", citation=best, limit=2)
    await talk.ask("search_sources", query=QUESTION, cursor="AAAA")
    await talk.ask("list_documents", ontology=ONTOLOGY, token_budget=600, shown=False)
    return talk.cited


async def wrong(client: Client, cited: dict[str, str | None]) -> list[str]:
    """Citations that do not stand for the document's text at their place."""
    talk = Session(client)
    failed: list[str] = []
    with open_client() as kg:
        for citation, told in cited.items():
            start, end = map(int, citation.partition("#")[2].split("-"))
            read = await talk.ask(
                "get_source_context", citation=citation, window=0, token_budget=100_000, shown=False
            )
            text = kg.document(read["document_id"]).text[start:end]
            if read["quote"] != {"citation": citation, "text": text} or told not in {None, text}:
                failed.append(citation)
    return failed


async def run(target: StdioServerParameters | str) -> int:
    """Hold the session, then check it."""
    async with Client(target) as client:
        cited = await session(client)
        failed = await wrong(client, cited)
    print(f"{len(cited)} citations, {len(cited) - len(failed)} resolve to exactly the document's text.")
    print(*failed, sep="\n", file=sys.stderr)
    return 1 if failed or not cited else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--http", metavar="URL", help="Over streamable HTTP: the service's address and /mcp.")
    stdio = StdioServerParameters(command="kg", args=["mcp"], env=dict(os.environ))
    sys.exit(anyio.run(run, parser.parse_args().http or stdio))


if __name__ == "__main__":
    main()
