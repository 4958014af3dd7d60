"""Notebooks: Markdown as it is, code and its output between fences."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import nbformat

from kg_api.convert.files.about import metadata, one_or_list
from kg_api.convert.files.decoding import decode
from kg_api.convert.markdown_text import MarkdownWriter, fence, one_line, storable
from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted

MAX_OUTPUT = 2_000
"""Characters of a cell's output that are kept."""


def convert(data: bytes) -> Converted:
    """Make Markdown of a notebook.

    Raises:
        UnreadableDocument: it is no notebook, or has no cell with text.
    """
    notebook, notes = _read(data)
    about = _mapping(notebook.get("metadata"))
    language = _language(about)
    writer, left_out = MarkdownWriter(), Counter[str]()
    for cell in _list(notebook.get("cells")):
        _write(writer, _mapping(cell), language, left_out)
    if not writer.text():
        raise UnreadableDocument("it has no cell with text; nothing was stored")
    authors = [str(_mapping(each).get("name") or "") for each in _list(about.get("authors"))]
    return Converted(
        writer.text(),
        one_line(str(about.get("title") or "")),
        metadata(author=one_or_list(authors)),
        notes=(*notes, *(f"left out: {count:,} {what}" for what, count in left_out.items() if count)),
    )


def _read(data: bytes) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    text, notes = decode(data)
    try:
        cells = _mapping(json.loads(text)).keys() & {"cells", "worksheets"}
        # whatever its version: the library brings it to this one, and complains in many ways
        with warnings.catch_warnings(action="ignore"):
            notebook: object = cast("Any", nbformat).reads(text, as_version=4) if cells else None
    except RecursionError as error:
        raise UnreadableDocument("it is nested too deeply for a notebook") from error
    except Exception as error:
        raise UnreadableDocument(f"it is not a notebook, or a damaged one: {str(error)[:200]}") from error
    if not cells:
        raise UnreadableDocument("it is not a notebook: it has no cells")
    return _mapping(notebook), notes


def _write(writer: MarkdownWriter, cell: Mapping[str, Any], language: str, left_out: Counter[str]) -> None:
    source = _text(cell.get("source"))
    if cell.get("cell_type") != "code":
        writer.add(storable(source).replace("\r\n", "\n").strip("\n").rstrip())
        return
    if source.strip():
        writer.add(fence(source, language))
    outputs = [_output(_mapping(each), left_out) for each in _list(cell.get("outputs"))]
    shown = "\n".join(filter(None, (each.strip("\n") for each in outputs)))
    if shown.strip():
        writer.add(fence(shown[:MAX_OUTPUT]))
    left_out["characters of long outputs"] += max(len(shown) - MAX_OUTPUT, 0)


def _output(output: Mapping[str, Any], left_out: Counter[str]) -> str:
    if output.get("output_type") == "stream":
        return _text(output.get("text"))
    if output.get("output_type") == "error":
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    data = _mapping(output.get("data"))
    left_out["pictures in outputs"] += any(str(kind).startswith("image/") for kind in data)
    return _text(data.get("text/plain"))


def _language(about: Mapping[str, Any]) -> str:
    named = _mapping(about.get("language_info")).get("name") or _mapping(about.get("kernelspec")).get(
        "language"
    )
    return str(named or "")


def _text(value: object) -> str:
    parts = _list(value)
    return "".join(map(str, parts)) if parts else value if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
