"""Plain text: paragraphs with blank lines between them."""

from __future__ import annotations

from itertools import pairwise

from kg_api.models.library.parsing import Block, BlockKind
from kg_api.parse.lines import is_blank, line_starts


def blocks(text: str, kind: BlockKind = "paragraph") -> list[Block]:
    """Find the runs of lines that are not blank; those of program text are named so."""
    found: list[Block] = []
    begin: int | None = None
    for line, following in pairwise(line_starts(text)):
        if is_blank(text, line, following):
            if begin is not None:
                found.append(Block(kind, begin, line))
            begin = None
        elif begin is None:
            begin = line
    return found if begin is None else [*found, Block(kind, begin, len(text))]


def whole_image(text: str) -> list[Block]:
    """The words of a document that is a picture: one block, whatever lines it has."""
    return [Block("image", 0, len(text))]
