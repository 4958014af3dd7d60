from collections.abc import Iterable

from kg_api.schemas.documents import Block
from kg_api.text.documents import parse
from kg_api.text.sources import SplitLimits, split


def seen(text: str, blocks: Iterable[Block]) -> list[tuple[str, str]]:
    """Return the kind, the level, and the text of each block."""
    return [
        (block.kind + (str(block.level) if block.level else ""), text[block.start : block.end].strip())
        for block in blocks
    ]


def sources(text: str, name: str, limits: SplitLimits | None = None) -> list[tuple[str, str]]:
    """Return the path of headings and the text of each source."""
    document = parse(text, name)
    spans = split(document, limits) if limits else split(document)
    return [(" > ".join(span.heading), text[span.start : span.end].strip()) for span in spans]


def many(count: int, word: str = "word") -> str:
    """Return a text with `count` words that has only one sentence."""
    return " ".join([word] * count)
