"""Stems, word forms, and misspellings, for the full-text index and for queries.

kg indexes the normal form of words (kg_api.normal_form), and the parts of words that the analyzer does not
split.

Neo4j's `english` analyzer splits by Unicode rules (UAX #29, version 12.1). It indexes `title:secret`,
`1,000`, `x·y`, `l'homme`, and `snake_case` as one token each, so a query cannot find their parts. It keeps a
soft hyphen within a word and ignores `½`. The character classes were measured with that analyzer. An
unnecessary character only adds some bytes to the index, but a missing one hides a word from searches.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import chain, islice, pairwise, takewhile
from typing import Final, cast

import Stemmer
from rapidfuzz.distance import OSA
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from kg_api.graph.client import Row, Transaction
from kg_api.normal_form import ARMENIAN, fold_letters, normalise_text, normalise_width
from kg_api.schemas.base import build_alias_scope, build_document_scope, build_ontology_scope
from kg_api.schemas.metadata import find_aliases


def _list_characters(categories: Container[str]) -> list[int]:
    codes = (*range(0x80, 0x20000), *range(0xE0000, 0xE0200))
    return [code for code in codes if unicodedata.category(chr(code)) in categories and code != ord("\u200b")]


def _build_character_class(found: Sequence[int]) -> str:
    """Build the ranges of a regular-expression class from sorted code points. Ranges are faster."""
    ends = [at for at, following in zip(found, [*found[1:], -1], strict=True) if following != at + 1]
    firsts = [at for at, before in zip(found, [-1, *found], strict=False) if before != at - 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, ends, strict=True))


_EXTENDING = sorted([*_list_characters({"Mn", "Mc", "Me", "Cf"}), *map(ord, ARMENIAN)])
EXTENDING = _build_character_class(_EXTENDING)
"""Marks, format characters, and Armenian signs, which belong to the character on their left and never end a
word."""
SYMBOLS = "".join(
    chr(code)
    for code in (*range(0x2100, 0x2150), *range(0x3200, 0x3400), *range(0x1F100, 0x1F300))
    if not chr(code).isalnum() and any(map(str.isalnum, normalise_text(chr(code))))
)
"""Symbols such as ㎏, ℃, and ㈱, which readers see as words and the analyzer ignores."""
JOINING = frozenset(map(chr, _EXTENDING)).union(SYMBOLS)
"""Characters of words that are neither letters nor digits. Few texts have them."""
_GLUE = (
    r"_\u02c2-\u02c5\u02d2-\u02d7\u02de\u02df\u02ed\u02ef-\u02ff\u05f3\u066b\u202f\u203f\u2040"
    r"\u2054\u24b6-\u24e9\ua720\ua721\ua789\ua78a\uab5b\ufe33\ufe34\ufe4d-\ufe4f\uff3f\U0001f130-\U0001f189"
    r"\U0001f3fb-\U0001f3ff\u109e\u109f\u19de\u19df\u1aa0-\u1aa6\u1aa8-\u1aad\u309b\u309c\u30a0\u32d0-\u32fe\u3300-\u3357"
    r"\uaa77-\uaa79\uaade\uaadf\U0001173f"
)
"""Characters that belong to the adjacent word, even at its end."""
_BETWEEN_LETTERS = "'.:\u00b7\u0387\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
_BETWEEN_DIGITS = (
    "',.;\u037e\u0589\u060c\u060d\u066c\u07f8\u2018\u2019\u2024\u2044\ufe10\ufe14\ufe50\ufe52\ufe54"
    "\uff07\uff0c\uff0e\uff1b"
)
SINGLE = "\u3005\u3007\u3041-\u3098\u309b-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces, which the analyzer splits into characters.

The sound marks \u3099 and \u309a belong to the preceding kana. File systems separate them.
"""
HANGUL = "\uac00-\ud7a3"
JOINED = "\u30a1-\u30fa\u30fc-\u30fe" + HANGUL
"""Katakana and Hangul, whose words are often a part of the analyzer's token: `データベース`, `한글을`."""
SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3\uaa60-\uaa7f"
    + JOINED
)
"""Joined scripts, and Thai, Lao, Burmese, and Khmer without digits, whose token is the text up to a space.

kg indexes and queries each two adjacent characters with their marks. On xquad th, nDCG@10 rises from 25.3 to
96.3 (ADR 110).
"""
_HEBREW = r"\u05d0-\u05f2"
_UNKNOWN = (
    r"\u0870-\u088e\u08b5\u08be-\u08c9\u0c5d\u0cdd\u0d04\u170d\u171f\u1b4c\u2c2f\u2c5f\u3006\u31bb-\u31bf"
    r"\u4db6-\u4dbf\u9ff0-\u9fff\ua7c0\ua7c1\ua7c7-\ua7f4\uab68\U00010570-\U000105bc\U00010780"
    r"\U00010e80-\U00010eb1\U00010f70-\U00010fc4\U00011071-\U00011075\U00011147\U00011460\U00011461"
    r"\U00011740-\U00011746\U00011900-\U00011959\U00011ab0-\U00011abf\U00011fb0\U00012f90-\U00012ff0"
    r"\U00016a70-\U00016ac9\U00017000-\U0001affe\U0001b11f-\U0001b122\U0001b170-\U0001b2fb"
    r"\U0001df00-\U0001df1e\U0001e290-\U0001e2ad\U0001e7e0-\U0001e7fe\U0002a6d7-\U0002a6df"
    r"\U0002b735-\U0002b738\U00030000-\U000323af"
)
"""Letters that are newer than the analyzer's Unicode version, so the analyzer ignores them."""


def _run(piece: str) -> re.Pattern[str]:
    joint = (
        rf"(?:(?<![\d{SINGLE}])[{_BETWEEN_LETTERS}](?![\d{SINGLE}])|(?<![^\W\d_])[{_BETWEEN_DIGITS}](?![^\W\d_])"
        rf'|(?<=[{_HEBREW}])"(?=[{_HEBREW}]))'
    )
    return re.compile(rf"{piece}(?:{joint}{piece})*(?:(?<=[{_HEBREW}])')?")


_ANY_RUN = _run(rf"[\w{EXTENDING}{_GLUE}{SYMBOLS}]+")
_ASCII_RUN = _run(r"\w+")
LATIN = "a-zA-Z\u00aa-\u03ff\u1e00-\u1fff"
"""Latin and Greek letters, used in codes and units. Next to a digit, they belong to the same word."""
_OTHER_LETTER = rf"[^\W\d_{LATIN}\u2100-\u2bff\ua720-\ua7ff\u30a0-\u30ff{SINGLE}]"
"""Letters that start a new word after a digit. The analyzer itself separates Chinese and Japanese from
digits."""
_SCRIPT_CHANGE = (
    rf"(?<=\d)(?={_OTHER_LETTER})|(?<={_OTHER_LETTER})(?=\d)|(?<={_OTHER_LETTER}[{EXTENDING}])(?=\d)"
)
_BETWEEN_PARTS = re.compile(rf"[^\w{EXTENDING}]+|_+|{_SCRIPT_CHANGE}")
TURNS = re.compile(_SCRIPT_CHANGE)
PIECES = re.compile(f"[{SINGLE}][{EXTENDING}]*|(?:[{SPACELESS}][{EXTENDING}]*)+|[^{SINGLE}{SPACELESS}]+")
_SPACELESS_CHARACTER = re.compile(f"[{SPACELESS}][{EXTENDING}]*")
_SINGLE_CHARACTER = re.compile(f"[{SINGLE}]")
_AT_SINGLE = re.compile(f"[{SINGLE}][{EXTENDING}]*")
_JOINED_CHARACTER = re.compile(f"[{JOINED}]")
_ARABIC = "\u0620-\u065f\u066e-\u06d3\u06ee-\u06ff"
_NON_JOINER = re.compile(rf"(?<=[{_ARABIC}])\u200c(?=[{_ARABIC}])")
_POSSESSIVE = re.compile(r"[^\W_]+['’＇][sS]")
_WITHOUT_TOKEN = re.compile(rf"[{_build_character_class(_list_characters({'No'}))}{_UNKNOWN}]")
"""Numbers that are not digits, and letters unknown to the analyzer."""
KNOWN_WORDS = 65_536
MAX_NUMBER = 16  # maximum characters of a number that kg indexes with its unit
_UNIT = r"[a-zA-Z\u00b5\u0370-\u03ff]{1,5}\d?"
_IS_UNIT = re.compile(_UNIT)
_UNIT_AFTER = re.compile(rf"\s{_UNIT}(?!\w)")
_NUMBER_BEFORE = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*\s\Z")
_SCOPE = re.compile(r"kg[oda][0-9a-f]{16}", re.IGNORECASE)


def locate_joined_parts(word: str) -> list[tuple[int, int]]:
    """Get start and end of each part of a Persian word with zero-width non-joiners. No parts without them.

    Writers also use a space or nothing in their place, as in the plural of `کتاب`.
    """
    signs = [found.span() for found in _NON_JOINER.finditer(word)]
    starts, ends = [0, *(end for _, end in signs)], [*(start for start, _ in signs), len(word)]
    return [*zip(starts, ends, strict=True)] if signs else []


def runs(text: str) -> Iterator[re.Match[str]]:
    """Yield the parts of a text that the analyzer may index as one or more tokens."""
    return (_ASCII_RUN if text.isascii() else _ANY_RUN).finditer(text)


@lru_cache(KNOWN_WORDS)
def split_parts(word: str) -> str:
    """Return the parts of a word in normal form, as kg indexes and queries them, separated by spaces.

    Punctuation splits a word, and so does a boundary between a digit and a non-Latin letter: `2022년`.
    """
    normal = fold_letters(normalise_text(word))
    separate = _BETWEEN_PARTS.split(normal)
    if has_spaceless(normal):
        pieces = (piece for part in separate for piece in PIECES.findall(part))
        separate = [part for piece in pieces for part in split_spaceless(piece)]
    return " ".join(_spell_token(part) for part in separate if any(character.isalnum() for character in part))


def has_spaceless(text: str) -> bool:
    return not text.isascii() and _SPACELESS_CHARACTER.search(text) is not None


def is_joined(piece: str) -> bool:
    """Check if a piece is in a joined script, so that the analyzer's token is also a word."""
    return _JOINED_CHARACTER.match(piece) is not None


def split_spaceless(piece: str) -> list[str]:
    """Split a piece into pairs of adjacent characters if its script writes no spaces between words.

    A single character stays as it is.
    """
    return [piece[start:end] for start, end in locate_pairs(piece)] or [piece]


def locate_pairs(piece: str) -> list[tuple[int, int]]:
    """Get start and end of each pair of adjacent characters in a piece of a script without spaces."""
    found = [each.span() for each in _SPACELESS_CHARACTER.finditer(piece)]
    return [(start, end) for (start, _), (_, end) in pairwise(found)] if len(found) > 1 else found


def find_hidden_parts(texts: Iterable[str]) -> list[str]:
    """Find the distinct parts of words that readers see but the analyzer does not index."""
    return [*dict.fromkeys(found for text in texts for found in _find_hidden(text))]


def _find_hidden(text: str) -> Iterator[str]:
    if fold_letters(normalise_text(text)) != text or _WITHOUT_TOKEN.search(text):
        yield from _find_written_otherwise(text)
        return
    is_plain = text.isascii() or not (TURNS.search(text) or has_spaceless(text))
    for run in (match[0] for match in runs(text)):
        if run.isalnum() and not _SCOPE.match(run) and (is_plain or split_parts(run) == run):
            continue
        for token in _AT_SINGLE.split(run) if has_spaceless(run) else [run]:
            seen = split_parts(token)
            if seen and token != seen:  # the analyzer removes `'s` itself, so only the `s` is missing
                yield seen.rpartition(" ")[2] if _POSSESSIVE.fullmatch(token) else seen


def _is_joint(beside: str) -> bool:
    """Check if a character next to a piece belongs to the same token of the analyzer."""
    return bool(beside) and not _SINGLE_CHARACTER.match(beside)


def _find_written_otherwise(text: str) -> Iterator[str]:
    """Find the hidden parts of a text that is not in normal form.

    A number and its unit stay together, because queries use them as a phrase: `٥ kg` and `5 ㎏`.
    """
    for run in runs(text):
        yield from (split_parts(run[0][start:end]) for start, end in locate_joined_parts(run[0]))
        for piece in PIECES.finditer(run[0]):
            seen = split_parts(piece[0])
            beside = run[0][: piece.start()][-1:], run[0][piece.end() :][:1]
            is_token = _SINGLE_CHARACTER.match(piece[0]) or not any(map(_is_joint, beside))
            if not seen or (piece[0] == seen and is_token):
                continue
            start, end = run.start() + piece.start(), run.start() + piece.end()
            if piece[0].isdecimal() and (unit := _UNIT_AFTER.match(text, end)):
                yield f"{seen} {split_parts(unit[0])}"
            elif _IS_UNIT.fullmatch(seen) and (
                number := _NUMBER_BEFORE.search(text[max(0, start - MAX_NUMBER) : start])
            ):
                yield f"{split_parts(number[0])} {seen}"
            else:
                yield seen


def _spell_token(part: str) -> str:
    """Return the indexable spelling of a part. It never equals a scope token, which filters use."""
    spelled = "".join(_spell_character(character) for character in part)
    return f"x{spelled}" if _SCOPE.match(spelled) else spelled


def _spell_character(character: str) -> str:
    if unicodedata.category(character) == "No":
        return f"{Fraction(unicodedata.numeric(character)).limit_denominator(1000)}".replace("/", "_")
    return f"u{ord(character):x}" if _WITHOUT_TOKEN.match(character) else character


# Snowball stemmers: one per thread and algorithm, because they are not thread-safe

_local = threading.local()


def stem(word: str, algorithm: str) -> str:
    """Return the stem of a lower-case word by a Snowball algorithm such as `german` or `porter`."""
    if not hasattr(_local, algorithm):
        setattr(_local, algorithm, Stemmer.Stemmer(algorithm))
    return cast("str", getattr(_local, algorithm).stemWord(word))


# Word forms of the analyzer, for comparing words as the index does
#
# Neo4j's `english` analyzer is Lucene's: lower case, no `'s`, Porter stem. Snowball's `porter` follows the
# paper. Lucene's stemmer differs in three rules, which `_stem` applies (checked with 4,382 words).

KNOWN_FORMS = 65_536
OMITTED = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these
    they this to was will with
    """.split()  # noqa: SIM905 - a list of words reads better so
)
"""Words that the analyzer ignores."""
MIN_STEMMED = 3  # minimum length of a word to stem
_MEASURED = re.compile("[aeiouy][^aeiouy]")  # a vowel and a following consonant: Porter's m > 0


@lru_cache(KNOWN_FORMS)
def normalize_word(word: str) -> str:
    """Normalize the form for comparing words: the lower-case stem without accents.

    Words with the same token in the index have the same form. The analyzer keeps accents, but here `resume`
    equals `résumé`, `ΑΘΗΝΑ` equals `Αθήνα`, and `ß` equals `ss`, because kg also finds these.
    """
    if word.isascii():
        return _stem(word.lower())
    plain = fold(_stem(unicodedata.normalize("NFC", word).lower()))
    return _stem(plain) if plain.isascii() else plain


def _stem(word: str) -> str:
    if len(word) < MIN_STEMMED:
        return word
    stemmed = stem(word, "porter")
    if stemmed.endswith("bli"):
        return stem(f"{stemmed[:-1]}e", "porter")
    return stemmed[:-1] if stemmed.endswith("logi") and _MEASURED.search(stemmed[:-4]) else stemmed


_SUFFIXES = """
    ability able al alism ality ally ance ancy ate ation ational ed edly ement ence ency entli ful fulness
    ible ibility ical icate ing ity ive iveness ization izer ly ment ness ous ously tional
""".split()  # noqa: SIM905 - a list of words reads better so


def complete_stems(begun: str) -> list[str]:
    """Return completions of an unfinished word whose stem is shorter than the typed part.

    The index contains `manag` for `management`, which `managem*` does not match.
    """
    cuts = (
        (suffix, length)
        for suffix in _SUFFIXES
        for length in range(1, len(suffix))
        if begun.endswith(suffix[:length])
    )
    forms = {normalize_word(word): word for suffix, length in cuts if (word := begun[:-length] + suffix)}
    return [
        word for form, word in forms.items() if begun.startswith(form) and MIN_WORD < len(form) < len(begun)
    ]


# Stop words of queries, by language
#
# The analyzer ignores 33 English words but weighs "how", "wer", and "quién" fully.

ENGLISH = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
    she her hers herself it its itself they them their theirs themselves what which who whom whose this
    that these those am is are was were be been being have has had having do does did doing would should
    could can may might must shall will ought a an the and but if or because as until while of at by for
    with about against between into through during before after above below to from up down in out on
    off over under again further then once here there when where why how all any both each few more most
    other some such no nor not only own same so than too very
    """.split()  # noqa: SIM905 - a list of words reads better so
)
"""Snowball's list and modal verbs. The package's 1,333 words include `call` and `state`: nDCG@10 is 81.5 with
them and 81.9 with this list (claude_docs, mode text)."""
GREEK = frozenset(
    """
    ο η το οι τα του της των τον την τη τους τις στο στη στην στον στα στους στις ένας ένα έναν ενός μια μία
    μιας και κι ή είτε ούτε αλλά όμως ενώ αν εάν ότι πως που όταν όπως όπου ώστε γιατί διότι επειδή καθώς
    ωστόσο να θα ας δεν δε μη μην με σε για από προς κατά μετά πριν χωρίς μέχρι έως ως παρά αντί υπό υπέρ
    μεταξύ εγώ εσύ εμείς εσείς μου σου μας σας αυτός αυτή αυτό αυτοί αυτές αυτά αυτού αυτής αυτών αυτόν αυτήν
    αυτούς εκείνος εκείνη εκείνο εκείνοι εκείνες εκείνα τι ποιος ποια ποιο ποιοι ποιες ποιον ποιους ποιας
    ποιου πού πότε πώς πόσο πόσος πόση πόσα πόσες πόσοι οποίος οποία οποίο οποίοι οποίες οποίου οποίας οποίων
    είναι ήταν είμαι είσαι είμαστε έχει έχουν έχω είχε είχαν μπορεί μπορούν κάποιος κάποια κάποιο κάποιοι
    άλλος άλλη άλλο άλλοι άλλες άλλα όλοι όλες όλα όλων κάθε τόσο όσο εδώ εκεί τότε έτσι μόνο πιο πολύ επίσης
    """.split()  # noqa: SIM905 - a list of words reads better so
)
"""The list of the package is ancient Greek. In xquad el, 10 of 1,190 questions have two of its words."""
_CONSONANTS: Final = frozenset("bcdfghjklmnpqrstvwxz")
_FEWEST = 2  # minimum number of stop words for recognizing the language of a query


def find_stop_words(words: Iterable[str], languages: Iterable[str | None] = ()) -> frozenset[str]:
    """Find the stop words among words in normal form, in the language with the most stop words.

    If no language has two, the result is empty, because each of a few keywords counts. Stop words of the
    given languages (English names) always count. For a language such as Thai, there is no list.
    """
    folded_words, listed = frozenset(word.lower() for word in words), load_stop_words()
    best = max((folded_words & each for each in listed.values()), key=len)
    none = frozenset[str]()
    language_stop_words = [folded_words & listed.get(each or "", none) for each in languages]
    detected = best if len(best) >= _FEWEST else none
    return detected.union(*language_stop_words)


@cache
def load_stop_words() -> Mapping[str, frozenset[str]]:
    """Load the stop words by English language name, without digits. English is first, so it wins ties."""
    others = sorted(set(AVAILABLE_LANGUAGES) - {"english", "greek"})
    return {"english": ENGLISH, "greek": GREEK, **{each: _read_list(each) for each in others}}


@cache
def _load_telling_stop_words() -> Mapping[str, frozenset[str]]:
    """Load the stop words without single consonants, which are names in code more often than words.

    With them, kg took 231 of 1,687 code files for Romanian, whose list contains `f`, `t`, and `p`.
    """
    return {name: words.difference(_CONSONANTS) for name, words in load_stop_words().items()}


def _read_list(language: str) -> frozenset[str]:
    words = map(normalise_text, get_stop_words(language))
    return frozenset(word for word in words if not word.isdecimal())


# Suggestions for unknown words: typos and other accents
#
# Lucene finds the texts by fuzzy queries on stems. The comparison uses the written words, so that a response
# can name them.

MIN_WORD = 3
"""Minimum characters of a word to correct. In a word of three characters, kg corrects only accents."""
MAX_WORD = 60
"""Maximum characters of a word to correct. A DNA sequence, or a text without spaces, is longer. The time of
fuzzy queries grows with the square of the length."""
MIN_TYPO = 4  # minimum length for one edit
MIN_SUBSTITUTED = 6
"""Minimum length for replacing or dropping a letter: `hope` does not match `home`."""
LONG_WORD = 8  # minimum length for two edits
MIN_SHARED = 3  # characters that must be equal at the start for two edits
MIN_PREFIXED = 9  # minimum length for a search by prefix
ENDING = 5  # characters that stemming may remove: the index contains `configur` for `configuration`
MAX_MEANT = 3  # suggestions for one word

_MARKS = re.compile("[\u0300-\u036f]+")
"""Accents. Vowel signs of Hindi and Thai are letters. Normalization has removed Hebrew and Arabic ones.
"""
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_WORDS = re.compile(rf"[^\W\d_]+(?:[{EXTENDING}]+[^\W\d_]*)*")
_ASCII_WORDS = re.compile(r"[^\W\d_]+")


def fold(word: str) -> str:
    """Return a word without case and accents: `Kürbis` equals `Kurbis`, and `ß` equals `ss`."""
    plain = _MARKS.sub("", unicodedata.normalize("NFD", normalise_text(word).casefold()))
    return unicodedata.normalize("NFC", plain.translate(_PLAIN_LETTERS))


def may_be_misspelt(word: str) -> bool:
    """Check if kg looks for other spellings of a word. Numbers and names with symbols are exact.

    In Thai and similar scripts, a word of the query is only a part of a word. Parts also find similar words.
    """
    return MIN_WORD <= len(word) <= MAX_WORD and is_word(word) and not has_spaceless(word)


def is_word(text: str) -> bool:
    """Check if a text contains only letters with their marks, such as the vowel signs of Hindi."""
    return _WORDS.fullmatch(unicodedata.normalize("NFC", text)) is not None


def get_max_edits(word: str) -> int:
    """Get the maximum edits between a word and a suggestion, not counting accents."""
    return 0 if len(word) < MIN_TYPO else 1 if len(word) < LONG_WORD else 2


@cache
def _list_accented() -> dict[int, str]:
    """Return a Lucene character class with the accented forms, by Latin or Greek letter."""
    letters = map(chr, chain(range(0xC0, 0x250), range(0x370, 0x400), range(0x1E00, 0x2000)))
    forms: dict[str, str] = {}
    for letter in filter(str.islower, letters):
        if (plain := fold(letter)) != letter and len(plain) == 1:
            forms[plain] = forms.get(plain, plain) + letter
    return str.maketrans({plain: f"[{variants}]" for plain, variants in forms.items()})


def build_fuzzy_clauses(word: str) -> str:
    """Return Lucene clauses for texts with similar words. They contain only letters and need no escaping.

    Lucene counts an accent as an edit. The regular expression finds a word with any number of accents.
    """
    lower = unicodedata.normalize("NFC", word).lower()
    plain = fold(lower)
    stemmed = stem(plain, "english")
    spellings = [spelling for spelling in dict.fromkeys([lower, plain, stemmed]) if is_word(spelling)]
    clauses = [f"{spelling}~{max(1, get_max_edits(spelling))}" for spelling in spellings]
    clauses += [
        f"/{spelling.translate(_list_accented())}/" for spelling in spellings if spelling in {plain, stemmed}
    ]
    if len(lower) >= MIN_PREFIXED:
        clauses.append(f"{lower[:-ENDING]}*")
    return " ".join(clauses)


def suggest_words(word: str, texts: Iterable[str]) -> list[str]:
    """Suggest words of the texts for an unknown word: nearest first, then most frequent.

    Words that differ only by accents are nearest, followed by words with an equal beginning.
    """
    folded, lower = fold(word), word.lower()
    counts = Counter(
        candidate for candidate in chain.from_iterable(map(split_words, texts)) if candidate.lower() != lower
    )
    ranks = {other: _compute_distance(folded, fold(other)) for other in counts}
    ranked = [(rank, -counts[other], other) for other, rank in ranks.items() if rank is not None]
    best = min((rank for rank, _, _ in ranked), default=None)
    suggestions: dict[str, str] = {}
    for _, _, other in sorted(each for each in ranked if each[0] == best):
        suggestions.setdefault(other.lower(), other)
    return [*suggestions.values()][:MAX_MEANT]


def _compute_distance(word: str, candidate: str) -> tuple[int, int] | None:
    """Return the edits and the characters after the common beginning, or None for too many differences.

    The first letter must match, because people rarely mistype it.
    """
    max_edits = get_max_edits(word)
    edits = OSA.distance(word, candidate, score_cutoff=max_edits)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, candidate, strict=False)))
    if edits > max_edits or not shared or (edits > 1 and shared < MIN_SHARED):
        return None
    # People rarely type two extra letters: `schedule` does not match `Schule`
    if len(word) - len(candidate) > 1:
        return None
    if edits and len(word) < MIN_SUBSTITUTED and _replaces_letters(word, candidate):
        return None
    return edits, len(word) - shared


def _replaces_letters(word: str, candidate: str) -> bool:
    """Check if a letter is replaced or dropped. Swapped and doubled letters do not count."""
    return not set(candidate).issuperset(word) or (
        len(word) == len(candidate) and sorted(word) != sorted(candidate)
    )


def split_words(text: str) -> list[str]:
    """Split the words of a text as written, composed, without numbers and symbols."""
    words = _ASCII_WORDS if text.isascii() else _WORDS
    return words.findall(unicodedata.normalize("NFC", text))


# Stems of other languages: `Zwiebel` finds `Zwiebeln`
#
# Snowball creates these stems, and kg removes their accents. kg indexes them in the field `scope` as tokens
# that no text contains. English texts need none, because the analyzer stems English.

MARK = "kgs"  # prefix of a stem, which separates stems from words
LANGUAGES = ("german", "spanish", "turkish", "russian", "romanian", "arabic", "greek", "hindi")
"""Languages for which stems improve results (ADR 57 has the figures)."""
MIN_STOP_WORDS = 2
MIN_SHARE = 0.1
"""Minimum share of stop words for recognizing a language. A list of names contains none."""
ENOUGH = 1000  # words of a text that kg reads to recognize its language
MAX_REPEATED = 2
"""Maximum count of a word to compare languages. Code repeats names such as `dir`, a German word."""
STEMS_MIN_STEMMED = 3
MAX_GUESSED = 8
"""Maximum words of a query in an unknown language that kg stems in each language. Longer queries are
sentences."""


def detect_stop_word_language(words: Iterable[str], *, sure: bool = False) -> str | None:
    """Return the language with the most stop words among lower-case words, or None if there are few.

    In a tie, English wins because the analyzer stems it, then a language with stems. If `sure` is set, a tie
    of other languages is None: `de` and `la` are Spanish, French, Italian, and Romanian.
    """
    counts = Counter(islice(words, ENOUGH))
    if counts.total() < MIN_STOP_WORDS:
        return None
    capped = {word: min(count, MAX_REPEATED) for word, count in counts.items()}
    # Iterating over a view of keys reads the whole stop word list: 70 times slower
    distinct = frozenset(counts)
    found = {name: distinct & listed for name, listed in _load_telling_stop_words().items()}
    hits = {name: sum(map(capped.__getitem__, words)) for name, words in found.items()}
    best = max(hits, key=lambda name: (hits[name], name == "english", name in LANGUAGES))
    total = sum(map(counts.__getitem__, found[best]))
    is_reliable = total >= MIN_STOP_WORDS and total >= MIN_SHARE * counts.total()
    is_tied = sure and best != "english" and [*hits.values()].count(hits[best]) > 1
    return best if is_reliable and not is_tied else None


SAMPLE: Final = 8000  # characters of a text that kg reads to recognize its language
_SCRIPTS: Final = {
    "CJK": "chinese", "HIRAGANA": "japanese", "KATAKANA": "japanese", "HANGUL": "korean",
    "CYRILLIC": "russian", "DEVANAGARI": "hindi",
}  # fmt: skip
_SHARED_SCRIPTS: Final = frozenset({"LATIN", "CYRILLIC", "ARABIC"})  # of several languages with stop words


def detect_language(text: str) -> str | None:
    """Return the English name of a text's language, or None for code, names, and very short texts.

    The script decides first, because a few Latin names in a Greek text look like another language.
    """
    counts = Counter[str]()
    for each, count in Counter("" if text.isascii() else normalise_width(text[:1000])).items():
        if each.isalpha():
            counts[unicodedata.name(each, "").partition(" ")[0]] += count
    script = max(counts, key=counts.__getitem__, default="LATIN")
    if script in _SHARED_SCRIPTS and (
        found := detect_stop_word_language(_list_words(text[:SAMPLE]), sure=True)
    ):
        return found
    return None if script == "LATIN" else _SCRIPTS.get(script, script.lower())


def stem_texts(texts: Sequence[str], chosen: str | None = None) -> list[str]:
    """Return a list with one string of all stems of a source, or an empty list, for example for English.

    Without a chosen language, kg detects the language of the first text, because names and titles mislead.
    """
    language = chosen or detect_stop_word_language(_list_words(texts[0]) if texts else ())
    if language is None or language == "english" or not (chosen or language in LANGUAGES):
        return []
    stop_words = load_stop_words()[language]
    words = (word for text in texts for word in _list_words(text))
    stems = (_stem_by_rules(word, language) for word in words if word not in stop_words and _has_stem(word))
    return [" ".join(stems)]


def stem_question(words: Sequence[str], chosen: Collection[str | None] = (None,)) -> list[str]:
    """Return the stems to query, in the languages of the searched ontologies.

    `chosen` contains None for ontologies without a language. For these, kg uses the language of the query. If
    kg cannot detect the language of a few keywords, it uses all languages.
    """
    lower = [word for each in words for word in _list_words(each)]
    ontology_languages = {each for each in chosen if each is not None} - {"english"}
    languages = [
        *dict.fromkeys([*sorted(ontology_languages), *(_guess_languages(lower) if None in chosen else ())])
    ]
    stems = (
        _stem_by_rules(word, language)
        for word in lower
        for language in languages
        if _has_stem(word) and word not in load_stop_words()[language]
    )
    return [*dict.fromkeys(stems)]


@lru_cache(KNOWN_FORMS)
def get_word_forms(word: str) -> frozenset[str]:
    """Return a word without accents, and its stems in all languages with stems.

    Words that share a form may be forms of the same word in some language.
    """
    lower = word.lower()
    stems = (fold(stem(lower, each)) for each in ("english", *LANGUAGES))
    return frozenset({fold(word), *stems})


def _guess_languages(words: Sequence[str]) -> Sequence[str]:
    language = detect_stop_word_language(words)
    if language is None:
        return LANGUAGES if len(words) <= MAX_GUESSED else ()
    return (language,) if language in LANGUAGES else ()


def _list_words(text: str) -> list[str]:
    return [word.lower() for word in split_words(normalise_text(text))]


def _has_stem(word: str) -> bool:
    """Check if kg stems a word. Characters that the analyzer separates would score like rare words."""
    return len(word) >= STEMS_MIN_STEMMED and not _SINGLE_CHARACTER.search(word)


def _stem_by_rules(word: str, language: str) -> str:
    return MARK + fold(stem(word, language))


# The property `scope` of sources and concepts: full-text tokens in addition to their text
#
# It contains a token for the ontology and one for the document (for filters), the hidden parts of words, and
# stems of other languages. The first source of a document also has the aliases of the document.

PORTION: Final = 1000  # sources per transaction that indexes them in another language


def build_source_scope(
    ontology: str,
    document_id: str,
    texts: Iterable[str],
    language: str | None = None,
    *,
    aliases: Iterable[str] = (),
) -> list[str]:
    """Build the tokens to index for a source in addition to its visible texts.

    `texts` starts with the text of the source. `language` is the setting of the ontology (None: detect it).
    Only the first source of a document has `aliases`.
    """
    seen = [*texts]
    scopes = [build_ontology_scope(ontology), build_document_scope(document_id)]
    return [*scopes, *find_hidden_parts(seen), *stem_texts(seen, language), *_index_aliases(aliases)]


def build_row_scope(row: Row, language: str | None) -> list[str]:
    """Build the tokens of a source that was read with the fields of its document."""
    texts = (row["full_text"], *row["heading"], row["title"], row["document"])
    aliases = get_aliases(row["paragraph"], row["metadata"])
    return build_source_scope(row["ontology"], row["document_id"], texts, language, aliases=aliases)


def get_aliases(paragraph: int, metadata: str | None) -> list[str]:
    """Return the aliases in the JSON metadata of a document if the paragraph is its first source."""
    return find_aliases(json.loads(metadata or "{}")) if paragraph == 0 else []


def index_language_batch(
    tx: Transaction, ontology: str, language: str | None, after: tuple[str, int]
) -> list[Row]:
    """Index the next batch of sources of an ontology in a language. Return these sources in order."""
    document, paragraph = after
    batch = tx.run(
        "sources/to_index", ontology=ontology, after=document, after_paragraph=paragraph, limit=PORTION
    )
    rows = [{**row, "scope": build_row_scope(row, language)} for row in batch]
    changed = [{name: row[name] for name in _COMPARED} for row in rows if row["scope"] != row["before"]]
    # In the common lock order
    tx.run("sources/write_scopes", rows=sorted(changed, key=lambda row: row["source_id"]))
    return batch


def build_concept_scope(
    ontology: str, label: str, search_terms: Iterable[str], description: str
) -> list[str]:
    """Build the tokens to index for a concept in addition to its text."""
    return [build_ontology_scope(ontology), *find_hidden_parts([label, *search_terms, description])]


def _index_aliases(aliases: Iterable[str]) -> Iterator[str]:
    """Yield the words of each alias, and its token, which matches a query that equals the alias."""
    for alias in aliases:
        yield build_alias_scope(alias)
        yield " ".join(filter(None, (split_parts(run[0]) for run in runs(alias))))


_COMPARED: Final = ("source_id", "heading", "title", "paragraph", "metadata", "scope")
"""Properties of a row. kg writes the scope only if the others still equal those of the locked source."""
