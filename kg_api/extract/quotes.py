"""Quotes: looked for in the text they are said to be of, for a model's word is no proof."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property

from rapidfuzz import fuzz

from kg_api.models.concepts.extraction import Quote
from kg_api.wording.folding import WITHOUT_BLANKS, FoldedText, at_words, fold, is_cut

MAX_QUOTE_LENGTH = 1000
"""Code points of a quote: a longer one is said to be of the source, but proves no more than its beginning."""
MIN_SCORE = 0.85
"""Likeness from which a passage counts as what was quoted."""
MIN_SIMILAR_LENGTH = 16
"""Characters; something shorter must be there as it is: any word is like some other word."""
MIN_LETTERS, MIN_UNSPACED = 8, 4
"""Letters and digits of a quote that proves something; in a script that writes words together."""
CASE_ONLY = 0.99
"""The score of what differs in case alone, and the most of what is found by likeness."""
_MAX_TEXT_LENGTH = 50_000
"""Code points of a text in which likeness is looked for."""
_ELISION = re.compile(r"\s*(?:\[?(?:\.\.\.|…)\]?)\s*")
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_ENDS = ".,;:!?)]}"
"""With these no quote begins."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|\w+n't|nicht|kein\w*|nie|niemals|ohne|ne|pas|jamais|"
    r"sans|nunca|sin|não|sem|non|mai|senza)\b|не|不|没|没有"
)


def find_quote(text: str, quote: str) -> Quote | None:
    """Find what was quoted: as it is, else but for white space, quotation marks and case, else by likeness.

    What is found begins and ends with words. By likeness alone no number and no denial may differ: such a
    sentence says something else.

    Args:
        text: of the source.
        quote: what is said to be in it.

    Returns:
        The span of `text`, verbatim; None when it is not there.
    """
    quoted, sought = QuotedText(quote), QuoteSearch(text)
    return sought.as_it_is(quoted) or sought.but_for_form(quoted) or sought.alike(quoted)


def says_enough(quote: str, passage: str) -> bool:
    """Whether a quote proves anything: a word or two are in any text. All of a passage always does."""
    letters = sum(character.isalnum() for character in quote)
    least = MIN_UNSPACED if WITHOUT_BLANKS.search(quote) else MIN_LETTERS
    return letters >= least or quote.strip() == passage.strip()


class QuotedText:
    """A quote that is looked for in several texts."""

    def __init__(self, said: str) -> None:
        """`said`: what is said to be in a text."""
        self.said = said
        wanted = said.strip()[:MAX_QUOTE_LENGTH].strip()
        self.wanted = wanted if any(character.isalnum() for character in wanted) else ""

    @cached_property
    def folded(self) -> str:
        """But for its form."""
        return fold(self.wanted).text.strip()

    @property
    def may_be_alike(self) -> bool:
        """Whether it is long enough to be found by likeness."""
        return len(self.folded) >= MIN_SIMILAR_LENGTH


class QuoteSearch:
    """A text in which several quotes are looked for, in three ways; see `find_quote`."""

    def __init__(self, text: str) -> None:
        """Nothing is read yet."""
        self.text = text

    @cached_property
    def folded(self) -> FoldedText:
        """But for its form; once."""
        return fold(self.text)

    def as_it_is(self, quote: QuotedText) -> Quote | None:
        """To the letter. The cheapest way."""
        at = at_words(self.text, quote.wanted, 0) if quote.wanted else None
        return None if at is None else _quote(self.text, at, at + len(quote.wanted), 1.0, quote.said)

    def but_for_form(self, quote: QuotedText) -> Quote | None:
        """But for white space, quotation marks, dashes and case."""
        return _but_for_form(self.text, self.folded, quote.folded, quote.said) if quote.folded else None

    def alike(self, quote: QuotedText) -> Quote | None:
        """By likeness. It takes long."""
        return _by_likeness(self.text, self.folded, quote.folded, quote.said) if quote.folded else None


def _but_for_form(text: str, folded: FoldedText, sought: str, said: str) -> Quote | None:
    at = at_words(folded.text, sought, 0)
    if at is None:
        return None
    start, end = folded.span(at, at + len(sought))
    same_case = fold(text[start:end], case=True).text == fold(said, case=True).text.strip()
    return _quote(text, start, end, 1.0 if same_case else CASE_ONLY, said)


def _by_likeness(text: str, folded: FoldedText, sought: str, said: str) -> Quote | None:
    sought = _longest_piece(folded.text, sought)
    if len(sought) < MIN_SIMILAR_LENGTH:
        return None
    found = fuzz.partial_ratio_alignment(
        sought, folded.text[:_MAX_TEXT_LENGTH], score_cutoff=100 * MIN_SCORE - 10
    )
    if found is None or found.dest_start == found.dest_end:
        return None
    start, end = _whole_words(folded.text, found.dest_start, found.dest_end)
    passage = folded.text[start:end]
    score = round(min(fuzz.ratio(sought, passage) / 100, CASE_ONLY), 4)
    if score < MIN_SCORE or _says(sought) != _says(passage):
        return None
    return _quote(text, *folded.span(start, end), score, said)


def _longest_piece(text: str, sought: str) -> str:
    """Of a quote with gaps, its longest piece, if all pieces are there in their order; else all of it."""
    pieces = [piece for piece in _ELISION.split(sought) if piece]
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return sought
    return max(pieces, key=len, default=sought)


def _quote(text: str, start: int, end: int, score: float, said: str) -> Quote:
    end = min(end, start + MAX_QUOTE_LENGTH)
    found, said = text[start:end], _UNSTORABLE.sub(" ", said).strip()[:MAX_QUOTE_LENGTH]
    return Quote(found, start, end, score, None if said == found else said)


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Move borders that are within words out of them."""
    while is_cut(text, start):
        start -= 1
    while is_cut(text, end):
        end += 1
    while start < end and (text[start].isspace() or text[start] in _ENDS):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _says(passage: str) -> tuple[Counter[str], int]:
    """What likeness must not pass over: its numbers, and how often it denies."""
    return Counter(_NUMBER.findall(passage)), len(_DENIAL.findall(passage))
