"""What the index's analyzer makes of a word, so that two words can be compared as it compares them.

Neo4j's `english` analyzer is Lucene's: lower case, no `'s`, Porter's stem. Snowball's `porter` is that of the
paper; Lucene has Porter's own, which differs in three rules (all of 4,382 words of texts are alike so).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from kg_api.graph.fulltext.stemming import stem

KNOWN_FORMS = 65_536
OMITTED = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these
    they this to was will with
    """.split()  # noqa: SIM905 - a list of words reads better so
)
"""Words that the analyzer leaves out."""
MIN_STEMMED = 3
"""Shorter words are their own stem."""
_MEASURED = re.compile("[aeiouy][^aeiouy]")
"""A vowel and a consonant behind it: Porter's m > 0."""
_ACCENTED = re.compile("([a-z])[\u0300-\u036f]+")


@lru_cache(KNOWN_FORMS)
def word_form(word: str) -> str:
    """What a word is compared by: the stem, in lower case and composed, and Latin letters without accents.

    All words that the analyzer takes for one have one form. It keeps accents: here `resume` is `résumé`, too.
    """
    if word.isascii():
        return _stem(word.lower())
    composed = unicodedata.normalize("NFC", word).lower().replace("ς", "σ")
    form = _stem(composed)
    if form.isascii():
        return form
    plain = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", form))
    return _stem(plain) if plain.isascii() else unicodedata.normalize("NFC", plain)


def _stem(word: str) -> str:
    if len(word) < MIN_STEMMED:
        return word
    found = stem(word, "porter")
    if found.endswith("bli"):
        return stem(f"{found[:-1]}e", "porter")
    return found[:-1] if found.endswith("logi") and _MEASURED.search(found[:-4]) else found
