"""Addresses of the pages: each says what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlencode

SEARCH: Final = "/ui/search"
ASK: Final = "/ui/ask"
READ: Final = "/ui/read"
DOCUMENTS: Final = "/ui/documents"
ONTOLOGIES: Final = "/ui/ontologies"
REVIEW: Final = "/ui/review"
CONCEPTS: Final = "/ui/concepts"
COMMUNITIES: Final = "/ui/communities"
GRAPH: Final = "/ui/graph"
MAP: Final = "/ui/map"
PROPOSALS: Final = "/ui/proposals"
EVALUATIONS: Final = "/ui/evaluations"
JOBS: Final = "/ui/jobs"
JUDGEMENTS: Final = "/ui/judgements"
FOLDERS: Final = "/ui/folders"
SPACES: Final = "/ui/spaces"
KEYS: Final = "/ui/keys"
AUDIT: Final = "/ui/audit"
HELP: Final = "/ui/help"

Value = str | int | Sequence[str] | None


def address(path: str, **parameters: Value) -> str:
    told = {name: value for name, value in parameters.items() if value not in (None, "", [], ())}
    query = urlencode(told, doseq=True)
    return f"{path}?{query}" if query else path


def below(path: str, *parts: str) -> str:
    """An address below another; whatever the parts hold, each stays one."""
    return "/".join([path, *(quote(part, safe="") for part in parts)])
