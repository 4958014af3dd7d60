"""Conversion of notebooks: Markdown unchanged, code and its output as fenced blocks."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import nbformat

from kg_api.convert.html.page import convert_letter
from kg_api.convert.image.embedded import NotebookImages
from kg_api.convert.shared.containers import build_metadata, unwrap_single
from kg_api.convert.shared.markdown_text import (
    MarkdownWriter,
    join_lines,
    remove_unstorable,
    write_code_block,
)
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.settings import ConversionSettings
from kg_api.text.decoding import decode_declared, remove_terminal_codes
from kg_api.text.markdown import close_blocks

_FIGURE = re.compile(r"<[\w.]*(?:Figure|Image) [^<>\n]*>|<[\w.]*Image object>")
"""Text representation of an image, without useful words."""
_OBJECT = re.compile(r"<[\w.]*(?:HTML|Markdown|Latex|Math|Styler)(?: object)?(?: at 0x\w+)?>")
_WRITTEN_OVER = re.compile(r"[^\n]*\r(?=[^\n])")
MAX_OUTPUT = 2_000  # characters kept of a cell's output


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    notebook, notes = _read(data)
    about = _to_mapping(notebook.get("metadata"))
    named = _to_mapping(about.get("language_info")).get("name") or _to_mapping(about.get("kernelspec")).get(
        "language"
    )
    language = str(named or "")
    writer, left_out, images = MarkdownWriter(), Counter[str](), NotebookImages(settings)
    for cell in _list(notebook.get("cells")):
        _write(writer, _to_mapping(cell), language, left_out, images)
    if not writer.text():
        raise UnreadableDocument("no cell contains text. Nothing was stored")
    authors = [str(_to_mapping(each).get("name") or "") for each in _list(about.get("authors"))]
    return Converted(
        writer.text(),
        join_lines(str(about.get("title") or "")),
        build_metadata(author=unwrap_single(authors)),
        notes=(
            *notes,
            *(f"skipped: {count:,} {what}" for what, count in left_out.items() if count),
            *images.notes(),
        ),
        images=tuple(writer.images),
    )


def _read(data: bytes) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    text, notes = decode_declared(data)
    try:
        cells = _to_mapping(json.loads(text)).keys() & {"cells", "worksheets"}
        # nbformat converts any version to version 4 and emits several kinds of warnings
        with warnings.catch_warnings(action="ignore"):
            notebook: object = cast("Any", nbformat).reads(text, as_version=4) if cells else None
    except RecursionError as error:
        raise UnreadableDocument("the file is nested too deeply for a notebook") from error
    except Exception as error:
        raise UnreadableDocument(f"the file is not a notebook, or is damaged: {str(error)[:200]}") from error
    if not cells:
        raise UnreadableDocument("the file is not a notebook: the cells are missing")
    return _to_mapping(notebook), notes


def _write(
    writer: MarkdownWriter,
    cell: Mapping[str, Any],
    language: str,
    left_out: Counter[str],
    images: NotebookImages,
) -> None:
    source = _join_text(cell.get("source"))
    if cell.get("cell_type") != "code":
        attached = {
            name: _get_image(_to_mapping(kinds))
            for name, kinds in _to_mapping(cell.get("attachments")).items()
        }
        prose = close_blocks(remove_unstorable(source).replace("\r\n", "\n").strip("\n"))
        images.write_prose(writer, prose, attached)
        return
    if source.strip():
        writer.add(write_code_block(source, language))
    found = [_to_mapping(each) for each in _list(cell.get("outputs"))]
    _write_words(writer, [_format_output(each, left_out) for each in found], left_out)
    for each in found:
        if image := _get_image(_to_mapping(each.get("data"))):
            images.write_output(writer, image)


def _write_words(writer: MarkdownWriter, outputs: Sequence[str], left_out: Counter[str]) -> None:
    output_text = "\n".join(filter(None, (each.strip("\n") for each in outputs)))
    if output_text.strip():
        writer.add(write_code_block(output_text[:MAX_OUTPUT]))
    left_out["characters of long outputs"] += max(len(output_text) - MAX_OUTPUT, 0)


def _get_image(data: Mapping[str, Any]) -> str:
    """Return an image as base64 (unsupported kinds such as SVG: invalid base64)."""
    kinds = [kind for kind in data if kind.startswith("image/")]
    kinds.sort(key=lambda kind: kind not in {"image/png", "image/jpeg", "image/webp", "image/gif"})
    return _join_text(data[kinds[0]]) or "?" if kinds else ""


def _format_output(output: Mapping[str, Any], left_out: Counter[str]) -> str:
    if output.get("output_type") == "stream":
        return _render_terminal_text(_join_text(output.get("text")))
    if output.get("output_type") == "error":
        left_out["lines of tracebacks"] += sum(
            len(str(each).splitlines()) for each in _list(output.get("traceback"))
        )
        return _render_terminal_text(f"{output.get('ename', '')}: {output.get('evalue', '')}")
    data = _to_mapping(output.get("data"))
    words = _render_terminal_text(_join_text(data.get("text/plain")))
    if not words.strip() or _OBJECT.fullmatch(words.strip()):
        return _format_rich_output(data)
    return "" if _FIGURE.fullmatch(words.strip()) else words


def _render_terminal_text(text: str) -> str:
    """Remove ANSI colors and overwritten lines of progress bars."""
    return _WRITTEN_OVER.sub("", remove_terminal_codes(text).replace("\r\n", "\n"))


def _format_rich_output(data: Mapping[str, Any]) -> str:
    """Return the Markdown, LaTeX, or HTML output as Markdown."""
    for kind in ("text/markdown", "text/latex"):
        if words := _join_text(data.get(kind)):
            return words
    if page := _join_text(data.get("text/html")).strip():
        try:
            return convert_letter(page).text
        except UnreadableDocument:
            return ""
    return ""


def _join_text(value: object) -> str:
    parts = _list(value)
    return "".join(map(str, parts)) if parts else value if isinstance(value, str) else ""


def _to_mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
