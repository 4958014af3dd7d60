"""The context block: passages as Markdown, each below its place and citation. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kg_api.augment.merge import MergedPassage
from kg_api.ingest.conversation import heading, quote_block
from kg_api.models.queries.augment import AugmentRecord
from kg_api.models.queries.places import DescribedPlace
from kg_api.models.queries.search import SourceHit
from kg_api.wording.pages import describe_ocr, describe_pages

Block = tuple[AugmentRecord, str]


@dataclass(frozen=True, slots=True)
class PackedContext:
    text: str
    tokens: int
    records: list[AugmentRecord]
    left_out: int
    """Passages that do not fit into the budget."""


def context_of(
    passages: Sequence[MergedPassage], count: Callable[[str], int], budget: int | None
) -> PackedContext:
    """Write the passages down, the best first; one that does not fit any more is passed over.

    Args:
        passages: the best first.
        count: tokens of a text.
        budget: most tokens of all; None: no bound.
    """
    kept: list[Block] = []
    tokens = 0
    for passage in passages:
        record, block = _block(passage, len(kept) + 1, count)
        if budget is None or tokens + record.tokens <= budget:
            tokens += record.tokens
            kept.append((record, block))
    text = "".join(block for _, block in kept)
    return PackedContext(text, tokens, [record for record, _ in kept], len(passages) - len(kept))


def citation(source_id: str, start: int, end: int) -> str:
    """The source, and which code points of its document are meant."""
    return f"{source_id}#{start}-{end}"


def _block(passage: MergedPassage, number: int, count: Callable[[str], int]) -> Block:
    hit = passage.nearest.hit
    text, start, end = _to_read(hit)
    cited = citation(hit.source_id, start, end)
    page = "" if hit.page is None else f", {describe_pages(hit.page, hit.last_page)}"
    page += f", {describe_ocr(hit.ocr_confidence)}" if hit.ocr else ""
    near = page if hit.similarity is None else f"{page}, similarity {hit.similarity:.2f}"
    place = heading(f"{number}. {' > '.join([hit.ontology + ' / ' + hit.document, *hit.heading])}", 3)
    block = f"{place}[{cited}]{near}\n\n{quote_block(text)}\n\n"
    return _record(passage, text, cited, count(block)), block


def _to_read(hit: SourceHit) -> tuple[str, int, int]:
    """The larger part where there is one, else the source; without blanks at its end."""
    if hit.parent is not None:
        return hit.parent.text, hit.parent.start, hit.parent.end
    text = hit.full_text.rstrip()
    return text, hit.start, hit.start + len(text)


def _record(passage: MergedPassage, text: str, cited: str, tokens: int) -> AugmentRecord:
    hit = passage.nearest.hit
    return AugmentRecord(
        **hit.model_dump(include=set(DescribedPlace.model_fields)),
        citation=cited,
        text=text,
        similarity=hit.similarity,
        space=hit.space,
        rank=passage.rank,
        pieces=list(dict.fromkeys(each.piece for each in passage.found)),
        tokens=tokens,
        matches=hit.matches,
        duplicates=list(passage.duplicates),
    )
