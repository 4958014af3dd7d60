"""A provider's own words, made fit for errors, logs and job records.

Providers quote: a key that they do not take, a sentence that their filter refuses; with other blanks, in
other case, or escaped as in JSON.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from pydantic import SecretStr

MAX_DETAIL = 300
QUOTED = 16
"""Letters and digits in a row that words share with what was sent when they quote it: three to four words."""
QUOTED_KEY = 8
"""The same of a key."""
_MAX_READ = 4000
"""Characters of a message that are looked at."""
_STRUCK = "***"
_KEY_LIKE = re.compile(r"\b(sk|nk|pk)-[\w*-]{6,}")
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtbf])|([\"'/]))")
_APART = "\0"
_SHORT = 10 * QUOTED
"""Characters of a text that may have few letters."""
Span = tuple[int, int]


def redact(text: str, *, sent: Sequence[str], key: SecretStr | None = None) -> str:
    """A provider's words on one line, shortened, every quotation of what it was sent struck out."""
    words = " ".join(_unescape(text[:_MAX_READ]).split())
    letters, places = _letters(words)
    secret = key.get_secret_value() if key else ""
    quoted = [*_quotations(letters, sent, QUOTED), *_quotations(letters, [secret], QUOTED_KEY)]
    spans = [(places[start], places[end - 1] + 1) for start, end in quoted]
    short = [(places[start], places[end - 1] + 1) for start, end in _short(letters, sent)]
    struck = _without(words, [*spans, *(span for span in short if _widen(words, span) == span)])
    return _KEY_LIKE.sub(_STRUCK, struck)[:MAX_DETAIL]


def detail(text: str, *, sent: Sequence[str], key: SecretStr | None = None) -> str:
    """The same as the end of a sentence; empty when nothing is left."""
    words = redact(text, sent=sent, key=key)
    return f" ({words})" if any(map(str.isalnum, words)) else ""


def _quotations(letters: str, sent: Iterable[str], least: int) -> Iterator[Span]:
    """Where letters repeat a piece of what was sent."""
    whole = _APART.join(_letters(each)[0] for each in sent)
    for at in range(len(letters) - least + 1):
        if letters[at : at + least] in whole:
            yield at, at + least


def _short(letters: str, sent: Iterable[str]) -> Iterator[Span]:
    """Where letters repeat all of a text that is too short for a piece."""
    texts = {text for each in sent if len(each) < _SHORT and (text := _letters(each)[0])}
    for text in texts:
        if len(text) < QUOTED:
            yield from (found.span() for found in re.finditer(re.escape(text), letters))


def _letters(text: str) -> tuple[str, list[int]]:
    """The letters and digits of a text, without case and accents, and the place of each."""
    found = [(each, at) for at, character in enumerate(text) for each in _plain(character)]
    return "".join(each for each, _ in found), [at for _, at in found]


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", character).casefold()
    return "".join(each for each in decomposed if each.isalnum())


def _without(text: str, spans: Sequence[Span]) -> str:
    """A text with some spans struck out, each with the whole words that it begins and ends in."""
    kept, at = list[str](), 0
    for start, end in _merge(text, spans):
        kept += [text[at:start], _STRUCK]
        at = end
    return "".join([*kept, text[at:]])


def _merge(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """In order, widened to whole words, those that touch as one."""
    open_span: Span | None = None
    for start, end in sorted(_widen(text, span) for span in spans):
        if open_span is not None and start <= open_span[1] + 1:
            open_span = (open_span[0], max(open_span[1], end))
            continue
        if open_span is not None:
            yield open_span
        open_span = (start, end)
    if open_span is not None:
        yield open_span


def _widen(text: str, span: Span) -> Span:
    start, end = span
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return start, end


def _unescape(message: str) -> str:
    """What escapes of JSON, Python and HTML stand for."""
    plain = html.unescape(_ESCAPE.sub(_decode_escape, message))
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _decode_escape(found: re.Match[str]) -> str:
    if code := found[1] or found[2]:
        return chr(int(code, 16))
    return found[4] or " "
