"""Stems, forms and misspellings of words, for the full-text index and for questions.

Parts of words that the analyzer does not separate are indexed next to the text, as is the normal form of
words (kg_api.normal_form).

Neo4j's `english` analyzer cuts by the rules of Unicode (UAX #29, version 12.1): `title:secret`, `1,000`,
`x·y`, `l'homme` and `snake_case` are one token each, a soft hyphen stays within its word, and `½` is none.
None of them can be asked for by its parts. What each character does was measured with that analyzer; to take
one for a character that joins costs some bytes, to miss one costs a word.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import chain, islice, pairwise, takewhile
from typing import Final, NamedTuple, cast

import Stemmer
from rapidfuzz.distance import OSA
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from kg_api.graph.client import Row, Transaction
from kg_api.normal_form import fold_letters, normalise_text
from kg_api.schemas.base import scope_of_alias, scope_of_document, scope_of_ontology
from kg_api.schemas.metadata import find_aliases


def _class_of(categories: Container[str]) -> str:
    """The characters of some categories for a class in a pattern, as ranges, which are quick."""
    planes = (*range(0x80, 0x20000), *range(0xE0000, 0xE0200))
    found = [at for at in planes if unicodedata.category(chr(at)) in categories and at != ord("\u200b")]
    ends = [at for at, following in zip(found, [*found[1:], -1], strict=True) if following != at + 1]
    firsts = [at for at, before in zip(found, [-1, *found], strict=False) if before != at - 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, ends, strict=True))


EXTENDING = _class_of({"Mn", "Mc", "Me", "Cf"})
"""Marks and format characters: they belong to the character on their left and never end a word."""
SYMBOLS = "".join(
    chr(code)
    for code in (*range(0x2100, 0x2150), *range(0x3200, 0x3400), *range(0x1F100, 0x1F300))
    if not chr(code).isalnum() and any(map(str.isalnum, normalise_text(chr(code))))
)
"""Signs such as ㎏, ℃ and ㈱: words to a reader, which the analyzer leaves out."""
_GLUE = (
    r"_\u02c2-\u02c5\u02d2-\u02d7\u02de\u02df\u02ed\u02ef-\u02ff\u055b\u055c\u055e\u05f3\u066b\u202f\u203f\u2040"
    r"\u2054\u24b6-\u24e9\ua720\ua721\ua789\ua78a\uab5b\ufe33\ufe34\ufe4d-\ufe4f\uff3f\U0001f130-\U0001f189"
    r"\U0001f3fb-\U0001f3ff\u109e\u109f\u19de\u19df\u1aa0-\u1aa6\u1aa8-\u1aad\u309b\u309c\u30a0\u32d0-\u32fe\u3300-\u3357"
    r"\uaa77-\uaa79\uaade\uaadf\U0001173f"
)
"""Signs that stay with the word beside them, even at its end."""
_BETWEEN_LETTERS = "'.:\u00b7\u0387\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
_BETWEEN_DIGITS = (
    "',.;\u037e\u0589\u060c\u060d\u066c\u07f8\u2018\u2019\u2024\u2044\ufe10\ufe14\ufe50\ufe52\ufe54"
    "\uff07\uff0c\uff0e\uff1b"
)
SINGLE = "\u3005\u3007\u3041-\u3098\u309b-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces, which the analyzer takes apart character by character.

The sound marks \u3099 and \u309a belong to the kana before them, from which file systems part them.
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
"""Letters that are younger than the analyzer's Unicode: it leaves them out."""


def _run(piece: str) -> re.Pattern[str]:
    joint = (
        rf"(?:(?<![\d{SINGLE}])[{_BETWEEN_LETTERS}](?![\d{SINGLE}])|(?<![^\W\d_])[{_BETWEEN_DIGITS}](?![^\W\d_])"
        rf'|(?<=[{_HEBREW}])"(?=[{_HEBREW}]))'
    )
    return re.compile(rf"{piece}(?:{joint}{piece})*(?:(?<=[{_HEBREW}])')?")


_ANY_RUN = _run(rf"[\w{EXTENDING}{_GLUE}{SYMBOLS}]+")
_ASCII_RUN = _run(r"\w+")
LATIN = "a-zA-Z\u00aa-\u03ff\u1e00-\u1fff"
"""Letters that codes and units are made of, Latin and Greek: next to a digit, they belong to its word."""
_OTHER_LETTER = rf"[^\W\d_{LATIN}\u2100-\u2bff\ua720-\ua7ff\u30a0-\u30ff{SINGLE}]"
"""Another letter begins another word there. The analyzer itself parts Chinese and Japanese from digits."""
_TURN = rf"(?<=\d)(?={_OTHER_LETTER})|(?<={_OTHER_LETTER})(?=\d)|(?<={_OTHER_LETTER}[{EXTENDING}])(?=\d)"
_BETWEEN_PARTS = re.compile(rf"[^\w{EXTENDING}]+|_+|{_TURN}")
TURNS = re.compile(_TURN)
PIECES = re.compile(f"[{SINGLE}][{EXTENDING}]*|[^{SINGLE}]+")
_POSSESSIVE = re.compile(r"[^\W_]+['’＇][sS]")
_WITHOUT_TOKEN = re.compile(rf"[{_class_of({'No'})}{_UNKNOWN}]")
"""Numbers that are no digits, and unknown letters."""
KNOWN_WORDS = 65_536
MAX_NUMBER = 16
"""Characters of a number that is indexed with its unit."""
_UNIT = r"[a-zA-Z\u00b5\u0370-\u03ff]{1,5}\d?"
_IS_UNIT = re.compile(_UNIT)
_UNIT_BEHIND = re.compile(rf"\s{_UNIT}(?!\w)")
_NUMBER_BEFORE = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*\s\Z")
_SCOPE = re.compile(r"kg[oda][0-9a-f]{16}", re.IGNORECASE)


def runs(text: str) -> Iterator[re.Match[str]]:
    """What the analyzer may take for one token, or more."""
    return (_ASCII_RUN if text.isascii() else _ANY_RUN).finditer(text)


@lru_cache(KNOWN_WORDS)
def parts(word: str) -> str:
    """The parts of a word in normal form, as they are indexed and asked for, a blank between them.

    Punctuation parts a word, and so do digits next to letters other than Latin ones: `2022년`.
    """
    normal = fold_letters(normalise_text(word))
    return " ".join(
        _token(part)
        for part in _BETWEEN_PARTS.split(normal)
        if any(character.isalnum() for character in part)
    )


def find_hidden_parts(texts: Iterable[str]) -> list[str]:
    """What a reader can see in some texts and the analyzer does not find in them, word by word, each once."""
    return [*dict.fromkeys(found for text in texts for found in _find_hidden(text))]


def _find_hidden(text: str) -> Iterator[str]:
    if fold_letters(normalise_text(text)) != text or _WITHOUT_TOKEN.search(text):
        yield from _find_written_otherwise(text)
        return
    has_turns = not text.isascii() and TURNS.search(text) is not None
    for run in (found[0] for found in runs(text)):
        if run.isalnum() and not _SCOPE.match(run) and not (has_turns and TURNS.search(run)):
            continue
        seen = parts(run)
        if seen and run != seen:  # the analyzer takes `'s` away itself, so that only the `s` is missing
            yield seen.rpartition(" ")[2] if _POSSESSIVE.fullmatch(run) else seen


def _find_written_otherwise(text: str) -> Iterator[str]:
    """The hidden parts of a text that is not in normal form.

    A number and its unit stay together, for they are asked for as a phrase: `٥ kg` and `5 ㎏`.
    """
    for run in runs(text):
        for piece in PIECES.finditer(run[0]):
            seen = parts(piece[0])
            if not seen or piece[0] == seen:
                continue
            start, end = run.start() + piece.start(), run.start() + piece.end()
            if piece[0].isdecimal() and (unit := _UNIT_BEHIND.match(text, end)):
                yield f"{seen} {parts(unit[0])}"
            elif _IS_UNIT.fullmatch(seen) and (
                number := _NUMBER_BEFORE.search(text[max(0, start - MAX_NUMBER) : start])
            ):
                yield f"{parts(number[0])} {seen}"
            else:
                yield seen


def _token(part: str) -> str:
    """A part that the analyzer takes, and never for the token of a scope, which filters are made of."""
    known = "".join(_known(character) for character in part)
    return f"x{known}" if _SCOPE.match(known) else known


def _known(character: str) -> str:
    if unicodedata.category(character) == "No":
        return f"{Fraction(unicodedata.numeric(character)).limit_denominator(1000)}".replace("/", "_")
    return f"u{ord(character):x}" if _WITHOUT_TOKEN.match(character) else character


# Snowball's stemmers, one a thread and algorithm, for they are not safe in several threads.

_local = threading.local()


def stem(word: str, algorithm: str) -> str:
    """The stem of a word in lower case, by one of Snowball's algorithms, such as `german` or `porter`."""
    if not hasattr(_local, algorithm):
        setattr(_local, algorithm, Stemmer.Stemmer(algorithm))
    return cast("str", getattr(_local, algorithm).stemWord(word))


# What the index's analyzer makes of a word, so that two words can be compared as it compares them.
#
# Neo4j's `english` analyzer is Lucene's: lower case, no `'s`, Porter's stem. Snowball's `porter` is that
# of the
# paper; Lucene has Porter's own, which differs in three rules (all of 4,382 words of texts are alike so).

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


# Words of a question that say little, in the language that it is asked in.
#
# The index's English analyzer leaves out 33 English words; "how", "wer" and "quién" weigh as any other there.

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
"""Snowball's list, and modal verbs. The 1,333 of the package have `call` and `state` among them: nDCG@10 81.5
with those and 81.9 with these (claude_docs, mode text)."""
_FEWEST = 2
"""So many of its stop words a question has at least in a language that it is taken for."""


def stop_words_of(words: Iterable[str], languages: Iterable[str | None] = ()) -> frozenset[str]:
    """Those of the words, in normal form and lower case, that are stop words of the language with most.

    None where no language has two: a few keywords are no sentence, and each of them counts. Those of
    languages that are told, by their English names, are stop words in any case.
    """
    asked = frozenset(word.lower() for word in words)
    most = max((asked & listed for listed in words_that_say_little().values()), key=len)
    listed = words_that_say_little()
    told = [asked & listed[each] for each in languages if each is not None]
    enough = most if len(most) >= _FEWEST else frozenset[str]()
    return enough.union(*told)


@cache
def words_that_say_little() -> Mapping[str, frozenset[str]]:
    """The stop words of each language, by its English name; not the digits that a few lists have.

    English first: it is taken where several have as many.
    """
    others = sorted(set(AVAILABLE_LANGUAGES) - {"english"})
    return {
        "english": ENGLISH,
        **{each: _read_list(each) for each in others},
    }


def _read_list(language: str) -> frozenset[str]:
    words = map(normalise_text, get_stop_words(language))
    return frozenset(word for word in words if not word.isdecimal())


# Words that no text has, and those of the texts that may be meant: typos, other accents. Pure.
#
# Lucene finds the texts (fuzzy queries ask for what is indexed, which are stems); which of their words is
# meant
# is told by the words as they stand, so that an answer can name them.

MIN_WORD = 3
"""Characters of a word that is looked for otherwise: of three, only its accents are."""
MIN_TYPO = 4
MIN_SUBSTITUTED = 6
"""Below it no letter stands for another: of `hope` nobody means `home`..."""
LONG_WORD = 8
"""From here on a word may differ by two letters..."""
MIN_SHARED = 3
"""... and then begins with these the same."""
MIN_PREFIXED = 9
ENDING = 5
"""Letters that stemming may take away: the index has `configur` of `configuration`."""
MAX_MEANT = 3
"""Words that take the place of one."""

_MARKS = re.compile("[\u0300-\u036f]+")
"""Accents. Vowel signs of Hindi and Thai are letters to a reader; those of Hebrew and Arabic are gone."""
_OTHERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
_WORDS = re.compile(r"[^\W\d_]+")


def fold(word: str) -> str:
    """A word without case and accents: `Kürbis` and `Kurbis` are one, `ß` is `ss`."""
    plain = _MARKS.sub("", unicodedata.normalize("NFD", normalise_text(word).casefold()))
    return unicodedata.normalize("NFC", plain.translate(_OTHERS))


def may_be_misspelt(word: str) -> bool:
    """Whether a word is looked for otherwise: numbers and names with signs are meant as they are."""
    return len(word) >= MIN_WORD and unicodedata.normalize("NFC", word).isalpha()


def most_edits(word: str) -> int:
    """Letters in which a word that is meant may differ, besides its accents."""
    return 0 if len(word) < MIN_TYPO else 1 if len(word) < LONG_WORD else 2


@cache
def _accented() -> dict[int, str]:
    """By a Latin or Greek letter: a class of Lucene's regular expressions with all its accented forms."""
    letters = map(chr, chain(range(0xC0, 0x250), range(0x370, 0x400), range(0x1E00, 0x2000)))
    forms: dict[str, str] = {}
    for each in filter(str.islower, letters):
        if (plain := fold(each)) != each and len(plain) == 1:
            forms[plain] = forms.get(plain, plain) + each
    return str.maketrans({plain: f"[{several}]" for plain, several in forms.items()})


def fuzzy_clauses(word: str) -> str:
    """Lucene's clauses for texts with a word like it; only letters are in it, so nothing is to be escaped.

    Accents count as letters to Lucene: a regular expression finds a word with any number of others.
    """
    lower = unicodedata.normalize("NFC", word).lower()
    plain = fold(lower)
    stemmed = stem(plain, "english")
    letters = [each for each in dict.fromkeys([lower, plain, stemmed]) if each.isalpha()]
    clauses = [f"{each}~{max(1, most_edits(each))}" for each in letters]
    clauses += [f"/{each.translate(_accented())}/" for each in letters if each in {plain, stemmed}]
    if len(lower) >= MIN_PREFIXED:
        clauses.append(f"{lower[:-ENDING]}*")
    return " ".join(clauses)


def meant_by(word: str, texts: Iterable[str]) -> list[str]:
    """Words of some texts that may be meant by one that none has: the nearest, of those the most frequent.

    What differs by its accents only is nearest, then what begins alike.
    """
    wanted, written = fold(word), word.lower()
    counts = Counter(said for said in chain.from_iterable(map(words_in, texts)) if said.lower() != written)
    ranks = {said: _distance(wanted, fold(said)) for said in counts}
    near = [(rank, -counts[said], said) for said, rank in ranks.items() if rank is not None]
    best = min((rank for rank, _, _ in near), default=None)
    once: dict[str, str] = {}
    for _, _, said in sorted(each for each in near if each[0] == best):
        once.setdefault(said.lower(), said)
    return [*once.values()][:MAX_MEANT]


def _distance(wanted: str, said: str) -> tuple[int, int] | None:
    """Edits, and letters at the beginning that are not shared; None: that is not meant.

    The first letter is right: people rarely miss that one.
    """
    most = most_edits(wanted)
    edits = OSA.distance(wanted, said, score_cutoff=most)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(wanted, said, strict=False)))
    if edits > most or not shared or (edits > 1 and shared < MIN_SHARED):
        return None
    if edits and len(wanted) < MIN_SUBSTITUTED and _substitutes(wanted, said):
        return None
    return edits, len(wanted) - shared


def _substitutes(wanted: str, said: str) -> bool:
    """Whether a letter stands for another, where two have not only changed places."""
    return len(wanted) == len(said) and sorted(wanted) != sorted(said)


def words_in(text: str) -> list[str]:
    """Its words as they are written, composed; numbers and signs are none."""
    return _WORDS.findall(unicodedata.normalize("NFC", text))


# Stems of words in the language of a text, beside the English ones: `Zwiebel` finds `Zwiebeln`. Pure.
#
# Snowball's stemmers, accents folded, in the field `scope`: there they are whole words of their own that
# nobody
# writes. English texts have none, for the index's own analyzer knows English.

MARK = "kgs"
"""In front of a stem: no word of a text is asked for by it."""
LANGUAGES = ("german", "spanish", "turkish", "russian", "romanian", "arabic", "greek", "hindi")
"""Those that gain by it (ADR 57 has the figures)."""
MIN_STOP_WORDS = 2
MIN_SHARE = 0.1
"""Of a text's words that are stop words of its language; in a list of names, none is."""
ENOUGH = 1000
"""Words of a text by which its language is told."""
STEMS_MIN_STEMMED = 3
_TAKEN_APART = re.compile(f"[{SINGLE}]")
MAX_GUESSED = 8
"""Words of a question whose language is not told are stemmed in each; more of them are a sentence."""


def language_of(words: Iterable[str]) -> str | None:
    """That whose stop words are most of some words, given in lower case; none where they are few.

    Where several have as many it is English, which is indexed as it is, then one that has stems.
    """
    counts = Counter(islice(words, ENOUGH))
    different = frozenset(counts)  # a view of keys walks the whole list of stop words: 70 times slower
    little = {
        name: sum(map(counts.__getitem__, different & listed))
        for name, listed in words_that_say_little().items()
    }
    best = max(little, key=lambda name: (little[name], name == "english", name in LANGUAGES))
    enough = little[best] >= MIN_STOP_WORDS and little[best] >= MIN_SHARE * counts.total()
    return best if enough else None


def stems_of_texts(texts: Sequence[str], chosen: str | None = None) -> list[str]:
    """What is indexed of some texts of one source: their stems, one string; nothing of English.

    Without a chosen language the first one tells it: names and titles, said twice, say nothing of it.
    """
    language = chosen or language_of(_words(texts[0]) if texts else ())
    if language is None or language == "english" or not (chosen or language in LANGUAGES):
        return []
    little = words_that_say_little()[language]
    words = (word for text in texts for word in _words(text))
    found = (_stem_by_rules(word, language) for word in words if word not in little and _has_stem(word))
    return [" ".join(found)]


def stems_of_question(words: Sequence[str], chosen: Collection[str | None] = (None,)) -> list[str]:
    """What is asked for: stems in the languages of what is searched.

    Args:
        words: of the question.
        chosen: the languages of the ontologies that are searched. None is among them where one has none: that
            is searched in the question's language, or in each where a few keywords do not tell it.
    """
    lower = [word for each in words for word in _words(each)]
    own = {each for each in chosen if each is not None} - {"english"}
    languages = [*dict.fromkeys([*sorted(own), *(_guessed(lower) if None in chosen else ())])]
    asked = (
        _stem_by_rules(word, language)
        for word in lower
        for language in languages
        if _has_stem(word) and word not in words_that_say_little()[language]
    )
    return [*dict.fromkeys(asked)]


@lru_cache(KNOWN_FORMS)
def forms_of(word: str) -> frozenset[str]:
    """A word without accents, and its stems in English and the languages that are told by texts.

    Two words that share one may be forms of one word; they are in some language.
    """
    lower = word.lower()
    return frozenset({fold(word), *(fold(stem(lower, each)) for each in ("english", *LANGUAGES))})


def _guessed(words: Sequence[str]) -> Sequence[str]:
    told = language_of(words)
    if told is None:
        return LANGUAGES if len(words) <= MAX_GUESSED else ()
    return (told,) if told in LANGUAGES else ()


def _words(text: str) -> list[str]:
    return [word.lower() for word in words_in(normalise_text(text))]


def _has_stem(word: str) -> bool:
    """Not what the analyzer takes apart: there each character would count as a rare word does."""
    return len(word) >= STEMS_MIN_STEMMED and not _TAKEN_APART.search(word)


def _stem_by_rules(word: str, language: str) -> str:
    return MARK + fold(stem(word, language))


# The property `scope` of sources and concepts: what the full-text index holds of them beside their text.
#
# One token each for ontology and document, which filters ask for, the normal form of words and parts that the
# index's analyzer does not tell apart (kg_api.graph.text_analysis), and stems of languages
# (kg_api.graph.text_analysis). The first source of a document also has its aliases.

PORTION: Final = 1000
"""Sources of one transaction that indexes them in another language."""


def scope_of_source(
    ontology: str,
    document_id: str,
    texts: Iterable[str],
    language: str | None = None,
    *,
    aliases: Iterable[str] = (),
) -> list[str]:
    """What is indexed of a source beside the texts that a reader sees of it, its own text first.

    Args:
        ontology: its own.
        document_id: of its document.
        texts: that a reader sees of it.
        language: of its ontology, as `ontologies/set_language` stores it; None: the text's own.
        aliases: of its document, if it is the first one.
    """
    seen = [*texts]
    scopes = [scope_of_ontology(ontology), scope_of_document(document_id)]
    return [*scopes, *find_hidden_parts(seen), *stems_of_texts(seen, language), *_index_aliases(aliases)]


def aliases_at(paragraph: int, metadata: str | None) -> list[str]:
    """Return the aliases that the source at a place is found by: those of its document, at the first place.

    Args:
        paragraph: its place.
        metadata: of its document, a JSON object.
    """
    return find_aliases(json.loads(metadata or "{}")) if paragraph == 0 else []


def index_in(tx: Transaction, ontology: str, language: str | None, after: tuple[str, int]) -> list[Row]:
    """Index the next portion of an ontology's sources in a language; those that were looked at, in order."""
    document, paragraph = after
    found = tx.run(
        "sources/to_index", ontology=ontology, after=document, after_paragraph=paragraph, limit=PORTION
    )
    _write_sources(tx, found, lambda _: language)
    return found


def scope_of_concept(ontology: str, label: str, search_terms: Iterable[str], description: str) -> list[str]:
    """What is indexed of a concept beside its text."""
    return [scope_of_ontology(ontology), *find_hidden_parts([label, *search_terms, description])]


def _index_aliases(aliases: Iterable[str]) -> Iterator[str]:
    """Of each its token, for it may be the whole question, and its words."""
    for alias in aliases:
        yield scope_of_alias(alias)
        yield " ".join(filter(None, (parts(run[0]) for run in runs(alias))))


def _write_sources(tx: Transaction, found: Iterable[Row], language: Callable[[Row], str | None]) -> None:
    """Index some sources anew, each in its ontology's language, in the order in which all lock them."""
    rows = [{**row, "scope": _source(row, language(row))} for row in found]
    changed = [{name: row[name] for name in _COMPARED} for row in rows if row["scope"] != row["before"]]
    tx.run("sources/write_scopes", rows=sorted(changed, key=lambda row: row["source_id"]))


def _source(row: Row, language: str | None) -> list[str]:
    texts = (row["full_text"], *row["heading"], row["title"], row["document"])
    aliases = aliases_at(row["paragraph"], row["metadata"])
    return scope_of_source(row["ontology"], row["document_id"], texts, language, aliases=aliases)


_COMPARED: Final = ("source_id", "content_hash", "heading", "title", "paragraph", "metadata", "scope")
"""What is compared with a source that is held, and what is written then."""


# Numbers and letters that people join or part: `5kg` and `5 kg`, `ISO9001` and `ISO 9001`. Pure.
#
# Both ways are asked for, as one word and as a phrase. A phrase is exact: `5kg` does not find `7 kg`.

MAX_VARIANTS = 32
JOINED = 2.0
"""The weight of one word that stands for two of the question."""

_NUMBER = r"\d+(?:[.,]\d+)*"
_LETTER = rf"(?:(?=[{LATIN}])[^\W\d_])"
_WORD = re.compile(rf"(?<![^\W_])(?:{_NUMBER}|{_LETTER}+)+(?![^\W_])")
_IS_NUMBER = re.compile(_NUMBER)
_QUANTITY = re.compile(rf"({_NUMBER})({_LETTER}.*)")
_CODE = re.compile(rf"({_LETTER}+)(\d.*)")
_FORMULA = re.compile(rf"(?<![\w.,])({_NUMBER})[/^]({_NUMBER})(?![\w/^])")
_BETWEEN = re.compile(r"\s?[-°^]?\s?")


class Variant(NamedTuple):
    """Another way to write a part of a question."""

    words: str
    """One word, or two with a blank between them."""
    weight: float = 1.0


def find_variants(question: str) -> list[Variant]:
    """Return the other ways to write a question's numbers and the letters next to them, the first 32."""
    normal = normalise_text(question)
    words = [*_WORD.finditer(normal)]
    apart = [each for word in words for each in _part(word[0])]
    apart += [Variant(" ".join(found.groups())) for found in _FORMULA.finditer(normal)]
    joined = (
        Variant(first[0] + last[0], JOINED)
        for first, last in pairwise(words)
        if _may_join(normal, first, last)
    )
    return [*islice(dict.fromkeys([*apart, *joined]), MAX_VARIANTS)]


def _part(word: str) -> Iterator[Variant]:
    """The index has no `a` and `in`: of `16 A` only the number can be found."""
    if quantity := _QUANTITY.fullmatch(word):
        number, unit = quantity.groups()
        yield Variant(number, 0.5) if unit.lower() in OMITTED else Variant(f"{number} {unit}")
    elif (code := _CODE.fullmatch(word)) and code[1].lower() not in OMITTED:
        yield Variant(f"{code[1]} {code[2]}")


def _may_join(text: str, first: re.Match[str], last: re.Match[str]) -> bool:
    if _BETWEEN.fullmatch(text, first.end(), last.start()) is None:
        return False
    if _IS_NUMBER.fullmatch(first[0]):
        return not last[0][0].isdecimal()
    is_said = len(first[0]) > 1 and first[0].lower() in OMITTED  # `in 2024` is no code
    return first[0].isalpha() and not is_said and _IS_NUMBER.fullmatch(last[0]) is not None
