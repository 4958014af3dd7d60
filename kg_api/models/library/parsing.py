"""What a parser gives and what the splitter makes of it. Offsets are code points of `text`, end excluded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kg_api.models.library.formats import Format
from kg_api.models.library.metadata import MetadataValue

BlockKind = Literal[
    "heading", "paragraph", "list_item", "code", "program", "table", "markup", "image", "other"
]
"""`program` is of files of program text, settings or logs: split as code, and its comments may be prose.
`image` is the words of a picture, which is a source of its own, whole and alone.
`markup` may have text between the marks of its format: HTML, a directive, a footnote, a head's fields.
`other` is not for reading: rules, comments, HTML that holds code or a script."""


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a document. Blocks are in order and do not overlap; blank text may lie between."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    """1 for the highest heading; 0 for what is not a heading."""
    title: str = ""
    """A heading's own words, without its marks."""
    scope: tuple[str, ...] | None = None
    """From here on a program's text is in these classes and functions, the outermost first."""


class CodeScope(NamedTuple):
    """A part of a program, to where the next one begins."""

    start: int
    path: tuple[str, ...]
    """The classes and functions that it is in, the outermost first."""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document's text, untouched, and its structure."""

    text: str
    title: str
    format: Format
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()
    """What a person should know, such as an encoding that was guessed."""
    body: int = 0
    """Where its passages begin; what stands before is said of the document, as its front matter."""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    """What the front matter says, but for the title."""


class SourceBlock(NamedTuple):
    """A block of a source, or a part of one; it ends where the next one begins."""

    kind: BlockKind
    start: int
    """In the source's text."""


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """The place of one source: `text[start:end]`; the spans of a document join to its whole text."""

    start: int
    end: int
    heading: tuple[str, ...]
    """The path of headings above it, the highest first."""
