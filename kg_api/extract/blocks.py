"""The blocks of sources that were stored before block kinds were (ADR 39)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kg_api.graph.spaces.due import DocumentAbout, SourceText
from kg_api.models.library.parsing import SourceSpan
from kg_api.parse.documents import parse
from kg_api.parse.split import blocks_of


def with_blocks(document: Sequence[SourceText], about: DocumentAbout) -> Sequence[SourceText]:
    """A document's sources with their blocks, found by its parser where they are not stored.

    Args:
        document: all its sources, which join to its text.
        about: its name and format.
    """
    if all(each.blocks for each in document):
        return document
    parsed = parse("".join(each.full_text for each in document), about.document, about.format)
    spans = [SourceSpan(each.start, each.start + len(each.full_text), each.heading) for each in document]
    found = zip(document, blocks_of(parsed, spans), strict=True)
    return [replace(source, blocks=source.blocks or blocks) for source, blocks in found]
