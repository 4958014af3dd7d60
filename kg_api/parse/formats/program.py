"""Program text, settings and logs: what stands between blank lines, and in which function or class."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from kg_api.models.library.parsing import Block, CodeScope
from kg_api.parse.formats import text as plain


def blocks(text: str, scopes: Sequence[CodeScope] = ()) -> Iterator[Block]:
    """Find the blocks; they end where scopes do, and the first of each scope tells it."""
    starts = [scope.start for scope in scopes]
    current = -1
    for block in plain.blocks(text, "program"):
        within = starts[bisect_right(starts, block.start) : bisect_left(starts, block.end)]
        for start, end in pairwise([block.start, *within, block.end]):
            scope = bisect_right(starts, start) - 1
            yield Block("program", start, end, scope=scopes[scope].path if scope != current else None)
            current = scope
