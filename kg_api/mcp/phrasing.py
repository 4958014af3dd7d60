"""Messages of kg in the words of agents: they call tools and have no shell."""

from __future__ import annotations

import re

_TOOLS = {
    "documents": "list_documents",
    "ontologies": "list_ontologies",
    "search": "search_sources",
    "similar": "find_similar_sources",
    "concept search": "hybrid_search",
    "concept list": "hybrid_search",
    "communities list": "list_communities",
    "proposals list": "list_proposed_links",
    "images list": "search_images",
    "images search": "search_images",
}
"""The tool that does what a command does."""
_COMMAND = re.compile(r"`kg ([^`]*)`")
_FOR_PEOPLE = " (You have no shell: the user runs `kg` commands.)"
_ARGUMENTS = ((re.compile(r"\bquery_text\b"), "query"), (re.compile(r"\bontology(?=\.\d)"), "ontologies"))
"""Fields of REST that are arguments of tools by another name."""


def phrase_for_agents(message: str) -> str:
    """Name tools and their arguments instead of commands and fields; say whose the other commands are."""
    for field, argument in _ARGUMENTS:
        message = field.sub(argument, message)
    message = _COMMAND.sub(_tool_of, message)
    return message + _FOR_PEOPLE if _COMMAND.search(message) else message


def _tool_of(command: re.Match[str]) -> str:
    words = command[1].split(" --")[0]
    return f"`{_TOOLS[words]}`" if words in _TOOLS else command[0]
