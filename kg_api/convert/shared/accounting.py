"""Comparison of a converted document with the text that a simple, independent reader finds in the file.

Each converter passes the text pieces of its file (paragraphs of XML text nodes, glyph lines, MIME text parts)
without known decoration. If the Markdown lacks words of these pieces, the document gets a note, so that no
text is lost silently.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_MAX_EXAMPLE = 80

# Scripts without spaces count by character, so a line break inside a run does not change the words.
_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1780-\u17ff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+"
)


@dataclass(frozen=True, slots=True)
class MissingText:
    words: int
    example: str  # part of the first piece with a missing word

    def describe(self, place: str) -> str:
        """Describe a note such as `skipped: 3 words of text boxes, e.g. "Load limit"`."""
        noun = "word" if self.words == 1 else "words"
        return f'skipped: {self.words:,} {noun} of {place}, e.g. "{self.example}"'


def split_tokens(text: str) -> list[str]:
    """Return words and numbers in NFKC form without case."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def find_missing(pieces: Iterable[str], markdown: str) -> MissingText | None:
    """Return the words of `pieces` that `markdown` contains less often, or None.

    A word that the Markdown joins or splits (`10^6` for the pieces `10` and `6`, a word over two runs) counts
    as found if its characters are consecutive.
    """
    read = [(piece, split_tokens(piece)) for piece in pieces]
    wanted = Counter(token for _, tokens in read for token in tokens)
    stored = split_tokens(markdown)
    lacking = wanted - Counter(stored)
    if not lacking:
        return None
    row = "".join(stored)
    lacking = Counter(
        {token: wanted[token] - found for token in lacking if (found := row.count(token)) < wanted[token]}
    )
    if not lacking:
        return None
    first = next(piece for piece, tokens in read if any(token in lacking for token in tokens))
    words = first.split()
    at = next((i for i, word in enumerate(words) if any(token in lacking for token in split_tokens(word))), 0)
    text = " ".join(words[max(0, at - 2) :])
    return MissingText(lacking.total(), text if len(text) <= _MAX_EXAMPLE else text[: _MAX_EXAMPLE - 1] + "…")


def describe_missing(pieces: Iterable[str], markdown: str, place: str) -> tuple[str, ...]:
    """Return a note about the missing words of `place`, if any."""
    missing = find_missing(pieces, markdown)
    return (missing.describe(place),) if missing else ()
