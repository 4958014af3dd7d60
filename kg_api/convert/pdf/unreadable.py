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
_MIN_LETTERS, _MIN_WORDS = 60, 20
"""Minimum letters of a page to judge it separately, and minimum words to use common words."""
_LETTER_SHARE, _NUMBER_SHARE = 0.5, 0.7
_COMMON_SHARE = 0.08
# Frequent short words of en, de, fr, es, pt, it, nl, sv, da, no, fi, pl, cs, hu, ro, tr.
_COMMON_WORDS = """
the of and to in is it for on that as with be by are at this from or an not was have you if can will
der die das und ist von zu den mit im dem des ein eine auf nicht sich es auch
le la les et de du un une en est que pour dans par sur au il qui pas ne ce
el los las por con se su al lo no más una como para os do da em não um uma na dos das ao com
di che non del della si sono gli nel van het een dat te op voor zijn met niet aan er
och att som på är av för det till ett inte har til af ikke jeg ja ei että oli kun
nie że jest je že za po az egy hogy nem és și nu cu din ce bir ve bu için
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"[-+(]?\d[\d.,:/]*[%)]?")
_SAID = re.compile(r"(?=.*[aeiouy\u00c0-\uffff])(?!.*[b-df-hj-np-tv-xz]{5})(?!.*[aeiou]{4}).*")
_SAID_SHARE, _NEARLY_ALL, _MAX_WORD = 0.8, 0.95, 20


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
    common = sum(word.casefold() in _COMMON for word in words)
    said = sum(map(_can_be_said, words))
    if len(words) < _MIN_WORDS:
        return said >= _SAID_SHARE * len(words)
    return common >= _COMMON_SHARE * len(words) or said >= _NEARLY_ALL * len(words)


def _can_be_said(word: str) -> bool:
    """Return whether a word is pronounceable, for short texts and languages without listed common words."""
    is_case_usual = word[1:].islower() or word.isupper()
    return is_case_usual and len(word) <= _MAX_WORD and bool(_SAID.fullmatch(word.casefold()))


def forget_unknown(pages: Iterable[PageText]) -> None:
    """Remove the few control codes within readable text, because their letters are unknown."""
    for page in pages:
        for run in (*page.pieces, *page.across):
            if UNKNOWN in run.text:
                run.text = run.text.replace(UNKNOWN, "")
        page.pieces = [run for run in page.pieces if run.text]
        page.across = [run for run in page.across if run.text]
