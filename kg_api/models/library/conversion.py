"""What a file that is no plain text becomes: Markdown, and what the file says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kg_api.models.images import FoundImage
from kg_api.models.library.metadata import MetadataValue
from kg_api.models.library.word_boxes import WordBox


@dataclass(frozen=True, slots=True)
class Converted:
    """A file as Markdown; its headings, lists, tables and code are told by Markdown's own marks."""

    text: str
    title: str = ""
    """What the file itself says; nothing: its first heading, or its name."""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    """`author`, `date` (when it was written, ISO 8601), `language`, `subject`, `tags` and the like."""
    pages: tuple[int, ...] = ()
    """Where each page, slide or sheet begins in `text`, in code points, the first at 0; none: it has none."""
    notes: tuple[str, ...] = ()
    """What a person should know, such as what was left out and how often."""
    pictures: tuple[int, ...] = ()
    """Pages, from 1, that have something on them but no text; where they are all, `text` is empty."""
    unreadable: tuple[int, ...] = ()
    """Pages, from 1, with text that was left out because no program can tell its letters."""
    words: tuple[WordBox, ...] = ()
    """What OCR read, by its place in `text`."""
    images: tuple[FoundImage, ...] = ()
    """Pictures in reading order; each has words of its own in `text`."""
