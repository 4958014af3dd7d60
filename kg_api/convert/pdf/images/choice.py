"""Which pictures of a PDF are worth a source, and which are decoration, scans or parts of others. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kg_api.convert.pdf.images.found import FoundPicture
from kg_api.convert.pdf.objects import Box

MIN_SIDE = 36.0
"""Points, half an inch: what is smaller both ways is an icon."""
MIN_SHORT_SIDE = 12.0
MAX_ASPECT = 16.0
"""Longer ones are lines."""
MIN_PAGES = 3
"""The same picture on so many pages is a logo or an ornament."""
_WHOLE, _WHOLE_WITHOUT_TEXT = 0.8, 0.5
"""Of a page: a scan, or a background; of a page without text OCR reads it."""
_TOUCH = 0.75
"""Points between two parts of one picture at most; PDF writers round."""
_MAX_PARTS = 400
"""Of a page: beyond that nothing is joined."""

TINY, REPEATED = "small pictures and lines", "pictures that come again on many pages"
WHOLE = "pictures behind whole pages"
_SCAN = "a scanned page"
"""OCR tells of it."""


@dataclass(frozen=True, slots=True)
class PageShape:
    """What is to be known of a page."""

    width: float
    height: float
    has_text: bool


def choose(
    found: Sequence[FoundPicture], shapes: Mapping[int, PageShape]
) -> tuple[list[FoundPicture], Counter[str]]:
    """Give those that are taken, page by page, and how many are not, by the reason.

    Args:
        found: of all pages.
        shapes: of their pages.
    """
    pictures = [each for page in _by_page(found).values() for each in joined(page)]
    pages: dict[bytes, set[int]] = defaultdict(set)
    for each in pictures:
        pages[each.key].add(each.page)
    chosen, left_out = list[FoundPicture](), Counter[str]()
    for each in pictures:
        if reason := _reason(each, shapes[each.page], len(pages[each.key])):
            left_out[reason] += reason != _SCAN
        else:
            chosen.append(each)
    return chosen, left_out


def _reason(picture: FoundPicture, page: PageShape, pages: int) -> str:
    short, long = sorted((picture.width, picture.height))
    if long < MIN_SIDE or short < MIN_SHORT_SIDE or long > MAX_ASPECT * short:
        return TINY
    share = picture.width * picture.height / max(1.0, page.width * page.height)
    if share > (_WHOLE if page.has_text else _WHOLE_WITHOUT_TEXT):
        return WHOLE if page.has_text else _SCAN
    return REPEATED if pages >= MIN_PAGES else ""


def _by_page(found: Iterable[FoundPicture]) -> dict[int, list[FoundPicture]]:
    pages: dict[int, list[FoundPicture]] = defaultdict(list)
    for each in found:
        pages[each.page].append(each)
    return pages


def joined(found: Sequence[FoundPicture]) -> list[FoundPicture]:
    """Strips and tiles as the picture that they are together; the order stays that of the first parts."""
    pictures = list(found)
    if len(pictures) > _MAX_PARTS:
        return pictures
    goes_on = True
    while goes_on:
        goes_on = False
        made: list[FoundPicture] = []
        for each in pictures:
            if made and (both := _both(made[-1], each)):
                made[-1], goes_on = both, True
            else:
                made.append(each)
        pictures = made
    return pictures


def _both(one: FoundPicture, other: FoundPicture) -> FoundPicture | None:
    """They share a whole edge."""
    if not (_beside(one.box, other.box, 0) or _beside(one.box, other.box, 1)):
        return None
    low = (min(one.box[0], other.box[0]), min(one.box[1], other.box[1]))
    high = (max(one.box[2], other.box[2]), max(one.box[3], other.box[3]))
    box = (*low, *high)
    scale = max(one.pixels[0] / one.width, other.pixels[0] / other.width)
    pixels = (round(scale * (box[2] - box[0])), round(scale * (box[3] - box[1])))
    key = hashlib.sha256(one.key + other.key).digest()
    return FoundPicture(one.page, (*one.parts, *other.parts), box, pixels, key)


def _beside(one: Box, other: Box, along: int) -> bool:
    """One ends where the other begins, and across that they are as long as each other."""
    across = 1 - along
    same = all(abs(one[across + end] - other[across + end]) < _TOUCH for end in (0, 2))
    touch = min(abs(one[along + 2] - other[along]), abs(other[along + 2] - one[along]))
    return same and touch < _TOUCH
