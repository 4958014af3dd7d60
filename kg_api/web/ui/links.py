"""URLs of pages."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

Value = str | int | Sequence[str] | None


def address(path: str, **parameters: Value) -> str:
    values = {name: value for name, value in parameters.items() if value not in (None, "", [], ())}
    query = urlencode(values, doseq=True)
    return f"{path}?{query}" if query else path


def below(path: str, *parts: str) -> str:
    """Build a URL below another. Each part is used as one path segment."""
    return "/".join([path, *(quote(part, safe="") for part in parts)])
