"""Detection of text without a character mapping.

A font may lack a ToUnicode map and real glyph names. PDFium then returns bare character codes. These codes
are correct only if they match ASCII, as in old TeX files, so kg checks whether they form words. Codes of
other scripts are never correct by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kg_api.convert.pdf.characters import PageText
from kg_api.convert.pdf.layout import TextRun
from kg_api.convert.pdf.letters import UNKNOWN

_MOST, _FEW = 0.5, 3
"""Minimum share and number of unmapped characters in a piece. Fewer are signs in readable text."""
_MIN_LETTERS = 60  # of a page to judge it separately
_LETTER_SHARE, _NUMBER_SHARE = 0.5, 0.7
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"[-+(]?\d[\d.,:/]*[%)]?")
_SAID = re.compile(r"(?=.*[aeiouy\u00c0-\uffff])(?!.*[b-df-hj-np-tv-xz]{5})(?!.*[aeiou]{4}).*")
_SAID_SHARE, _MAX_WORD = 0.75, 20  # measured: text 0.79 to 1, letters of unknown fonts up to 0.7


def take_out_unreadable(pages: Sequence[PageText]) -> None:
    """Move unreadable pieces from the text of the pages to `unreadable`."""
    suspects = [[run for run in (*page.pieces, *page.across) if _is_suspect(run)] for page in pages]
    if not any(suspects) or _says_words(run for some in suspects for run in some):
        return
    for page, some in zip(pages, suspects, strict=True):
        letters = sum(len(run.text) for run in some)
        if some and not (letters >= _MIN_LETTERS and _says_words(some)):
            page.unreadable = [run for run in (*page.pieces, *page.across) if _is_suspect(run, 1)]
            page.left_out += [run.text for run in page.unreadable]
            taken = set(map(id, page.unreadable))
            page.pieces = [run for run in page.pieces if id(run) not in taken]
            page.across = [run for run in page.across if id(run) not in taken]


def _is_suspect(run: TextRun, few: int = _FEW) -> bool:
    return run.unmapped >= max(few, _MOST * len(run.text.replace(" ", "")))


def _says_words(runs: Iterable[TextRun]) -> bool:
    """Return whether codes form words of a language or numbers."""
    tokens = " ".join(run.text for run in runs).split()
    rest = [token for token in tokens if not _NUMBER.fullmatch(token)]
    if len(rest) <= (1 - _NUMBER_SHARE) * len(tokens):
        return True
    words = _WORD.findall(" ".join(rest))
    letters = sum(map(len, words))
    if letters < _LETTER_SHARE * sum(map(len, rest)):
        return False
    usual = (word.casefold() for word in words if word[1:].islower() or word.isupper())
    said = sum(len(word) <= _MAX_WORD and bool(_SAID.fullmatch(word)) for word in usual)
    return said >= _SAID_SHARE * len(words)


def forget_unknown(pages: Iterable[PageText]) -> None:
    """Remove the few control codes within readable text, because their letters are unknown."""
    for page in pages:
        for run in (*page.pieces, *page.across):
            if UNKNOWN in run.text:
                run.text = run.text.replace(UNKNOWN, "")
        page.pieces = [run for run in page.pieces if run.text]
        page.across = [run for run in page.across if run.text]
