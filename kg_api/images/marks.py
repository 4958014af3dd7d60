"""What is to be marked on a page: a passage, and the words of a question. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kg_api.graph.fulltext.matches import QuestionWords
from kg_api.graph.images.originals import SourceOnPage
from kg_api.models.images import PageBox, PageToDraw
from kg_api.models.library.word_boxes import WordBox


def page_to_draw(
    page: int, width: int, sources: Sequence[SourceOnPage], passage: SourceOnPage | None, query: str | None
) -> PageToDraw:
    """A page with all that is to be marked.

    Args:
        page: from 1.
        width: in pixels.
        sources: what stands on it.
        passage: the one of these that is to be marked.
        query: words that are to be marked wherever they stand, as full text finds them.
    """
    read = [] if passage is None else passage.words(page)
    words, boxes = list[str](), list[PageBox]()
    for source, said in _matches(sources, query):
        on_page = source.words(page)
        hit = [each for each in on_page if _shares(each, source.start + said[0], source.start + said[1])]
        boxes += map(_box, hit)
        words += [] if on_page else [source.full_text[said[0] : said[1]]]
    return PageToDraw(
        page,
        width,
        passage="" if passage is None or read else passage.full_text,
        words=tuple(dict.fromkeys(words)),
        passage_boxes=tuple(map(_box, read)),
        word_boxes=tuple(boxes),
    )


def _matches(
    sources: Sequence[SourceOnPage], query: str | None
) -> Iterator[tuple[SourceOnPage, tuple[int, int]]]:
    if query:
        question = QuestionWords(query)
        for source in sources:
            for said in question.find(source.full_text):
                yield source, said


def _shares(word: WordBox, start: int, end: int) -> bool:
    return word.start < end and start < word.end


def _box(word: WordBox) -> PageBox:
    return PageBox(word.left, word.top, word.right, word.bottom)
