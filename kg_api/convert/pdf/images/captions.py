"""Which line of text says what a picture shows: `Figure 3: ...`, below it, above it or beside it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kg_api.convert.pdf.blocks import PdfBlock
from kg_api.convert.pdf.layout import Line
from kg_api.convert.pdf.objects import Box
from kg_api.convert.pdf.words import Vocabulary

_MAX_DISTANCE = 60.0
"""Points."""
_OVERLAP = 8.0
_ABOVE, _BESIDE = 2.0, 3.0
"""A caption below is more likely than one that is as near above, or beside."""
_MAX_WORDS = 100
_LABEL = re.compile(
    r"(?:fig(?:ure|ura|uur)?|abb(?:ildung)?|bild|photo(?:graph)?|foto|plate|tafel|image|imagen|immagine|chart|diagram"
    r"|diagramm|grafik|graph|gráfico|illustration|ilustración|scheme|schema|map|karte|exhibit|afb(?:eelding)?"
    r"|obr(?:ázek)?|rys(?:unek)?|рис(?:унок)?|kuva)"
    r"\.?\s*(?:\d+|[IVX]+)(?:[.\-–]\d+)*[a-z]?(?P<rest>.*)",
    re.IGNORECASE,
)
_MARK = re.compile(r"\s?[:|–—]|\.(?:\s|$)")
"""What parts a label from its words."""


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption and where it stands."""

    block: int
    page: int
    box: Box
    text: str


def captions(blocks: Sequence[PdfBlock]) -> Iterator[Caption]:
    """Find the captions of a document."""
    for number, block in enumerate(blocks):
        if block.kind in {"table", "code", "image"}:
            continue
        at = next((i for i, line in enumerate(block.lines) if _begins(line, first=i == 0)), None)
        if at is not None:
            lines = [line for line in block.lines[at:] if line.page == block.lines[at].page]
            yield Caption(number, lines[0].page, _box(lines), _text(lines))


def _begins(line: Line, *, first: bool) -> bool:
    """Within a paragraph only what cannot be part of a sentence, as `see Figure 3. It shows` is."""
    found = _LABEL.match(line.text)
    if not found:
        return False
    rest = found["rest"]
    if not first:
        return rest.lstrip().startswith((":", "|"))
    return not rest.strip() or bool(_MARK.match(rest)) or rest.lstrip()[:1].isupper()


def _box(lines: Sequence[Line]) -> Box:
    return (
        min(line.left for line in lines),
        min(line.main.bottom for line in lines),
        max(line.right for line in lines),
        max(line.main.top for line in lines),
    )


def _text(lines: Sequence[Line]) -> str:
    texts = [line.text for line in lines]
    return " ".join(Vocabulary(texts).joined(texts).split()[:_MAX_WORDS])


def assign(boxes: Sequence[tuple[int, Box]], found: Sequence[Caption]) -> dict[int, Caption]:
    """Give pictures their captions: the nearest pair first; what is left then shares one, as (a) and (b) do.

    Args:
        boxes: page and place of each picture.
        found: all captions.
    """
    pairs = sorted(
        (distance, picture, number)
        for picture, (page, box) in enumerate(boxes)
        for number, caption in enumerate(found)
        if caption.page == page and (distance := _distance(box, caption.box)) is not None
    )
    given: dict[int, Caption] = {}
    taken = set[int]()
    for _, picture, number in pairs:
        if picture not in given and number not in taken:
            given[picture] = found[number]
            taken.add(number)
    for _, picture, number in pairs:
        given.setdefault(picture, found[number])
    return given


def _distance(box: Box, caption: Box) -> float | None:
    """How far a caption is, as a reader judges it; None: too far."""
    left, bottom, right, top = box
    if caption[0] < right and caption[2] > left:
        below, above = bottom - caption[3], caption[1] - top
        gap, weight = (below, 1.0) if below >= above else (above, _ABOVE)
    elif caption[1] < top and caption[3] > bottom:
        gap, weight = max(caption[0] - right, left - caption[2]), _BESIDE
    else:
        return None
    return weight * max(gap, 0.0) if -_OVERLAP <= gap <= _MAX_DISTANCE else None
