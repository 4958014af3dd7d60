"""The pages of a passage, as people read them."""

from __future__ import annotations


def describe_pages(page: int, last_page: int | None) -> str:
    """`page 3`, or `pages 3-4` of what begins on one and ends on the other."""
    return f"page {page}" if last_page in {None, page} else f"pages {page}-{last_page}"
