"""Sentences, words and parts of speech, and how common a word is in its language."""

from __future__ import annotations

import gzip
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from itertools import islice, pairwise, zip_longest
from math import log10
from statistics import median
from typing import Literal, Protocol, cast

import regex
from yake_rust import Yake

from kg_api.schemas.documents import BlockKind, SourceBlock
from kg_api.suggestions import UNSPACED
from kg_api.text.sentences import sentence_borders

# Parts of speech of English words, by the tagger that TextBlob brings.

_NAMES = ("NNP", "NNPS")
_PLAIN = ("VB", "VBP")


class _Tagger(Protocol):
    """What is used of TextBlob's parser."""

    lexicon: Mapping[str, str]

    def find_tags(self, tokens: list[str]) -> list[list[str]]: ...


def tags(words: list[str]) -> list[str]:
    """Tags (Penn Treebank) of a sentence's words and marks."""
    return [tag for _, tag in _tagger().find_tags(words)]


def is_common(word: str) -> bool:
    """Whether a word stands in the lexicon in small letters, as more than a name."""
    return _tagger().lexicon.get(word.lower(), _NAMES[0]) not in _NAMES


def is_known(word: str) -> bool:
    """Whether a folded word stands in the lexicon."""
    return word in _tagger().lexicon


def is_verb(word: str) -> bool:
    """Whether a folded word is a verb in its plain form, first of all."""
    return _tagger().lexicon.get(word, "") in _PLAIN


@cache
def _tagger() -> _Tagger:
    """Brill's tagger with its lexicon; loading takes seconds, so only when there is English."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves closing its lexicon to the collector
        from textblob.en import parser  # noqa: PLC0415 # pyright: ignore[reportUnknownVariableType]

        tagger = cast("_Tagger", parser)
        tagger.find_tags(["Reading", "the", "lexicon"])
    return tagger


# Parts of speech that a tagger gave word by word, corrected by what the whole document says.

_NOUN = "NN"
_VERB = "VBZ"
_DETERMINERS = frozenset("a an the its their our your my his every each no".split())  # noqa: SIM905 - one line says more
"""Words behind which a noun comes; "this", "all" and "her" also stand alone."""
_OBJECTS = (_DETERMINERS - {"every", "each", "no"}) | {"this", "these", "those", "it", "them", "up", "itself"}
"""Words that follow a verb, and no noun, most of the time."""
_CAUSES = frozenset({"do", "does", "did", "let", "lets", "make", "makes", "help", "helps", "have", "see"})
"""Verbs behind which a noun and a verb in its plain form come."""
_CLAUSES = frozenset("that because if while whether although though since as unless until than".split())  # noqa: SIM905
"""Words with the tag of a preposition behind which a sentence begins."""
_TAGS_PLAIN = frozenset({"VB", "VBP"})
_TAGS_NOUNS = frozenset({"NN", "NNP"})
_ANY_NOUN = frozenset({"NN", "NNS", "NNP", "NNPS"})
_TAGS_WITHIN = _ANY_NOUN | {"DT", "PRP$", "POS", "CD", "JJ", "JJR", "JJS", "RBS", "VBN"}
_BEFORE_VERBS = frozenset({"TO", "MD", "PRP", "NNS", "NNPS", "WP", "WDT", "RB"})
_TAGS_BEHIND_NOUNS = frozenset({"", ".", ",", ":", ")", "VBZ", "VBP", "VBD", "MD", "CC"})
_TAGS_ENDS = frozenset({"", ".", ","})
_BOUNDS = frozenset({".", ",", ":", "(", ")", "WP", "WDT", "WRB", '"'})
_FINITE = frozenset({"VB", "VBP", "VBZ", "VBD", "MD"})
_TAGS_NAMES = frozenset({"NNP", "NNPS"})
_ATTRIBUTES = frozenset("arms customs earnings goods news operations sales savings sports systems".split())  # noqa: SIM905
"""Plurals that stand before the noun of a phrase: "sales report"."""
_SUBJECTS = frozenset({"i", "you", "we", "they"})
_MAX_CLAUSE_WORDS = 30
_MAX_PHRASE_WORDS = 12
"""Words of a phrase that are looked at, so that hostile text takes no time squared."""
_SAID = 2
"""How often a document says two words together that are one phrase."""


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """A sentence: its words, folded, and their tags (Penn Treebank); reads as empty beyond its ends."""

    words: list[str]
    tags: list[str]

    def word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def tag(self, at: int) -> str:
        return self.tags[at] if 0 <= at < len(self.tags) else ""

    def pair(self, at: int) -> tuple[str, str]:
        """The word there and the one behind it, whatever its number."""
        return self.word(at), self.word(at + 1).removesuffix("s")

    def is_bound(self, at: int) -> bool:
        """Whether a clause ends there."""
        return self.tag(at) in _BOUNDS or (self.tag(at) == "IN" and self.word(at) in _CLAUSES)

    def before_phrase(self, at: int) -> int:
        """The place in front of the adjectives and nouns that end there."""
        least = at - _MAX_PHRASE_WORDS
        while at > least and self.tag(at) in _TAGS_WITHIN:
            at -= 1
        return at


@dataclass(frozen=True, slots=True)
class _Known:
    """What a document shows to be nouns."""

    words: frozenset[str]
    """They stand behind an article, or an adjective behind one."""
    firsts: frozenset[tuple[str, str]]
    """Such a word and the noun behind it."""
    lasts: Counter[tuple[str, str]]
    """A noun and what stands behind it, wherever that may be a noun."""


def correct_tags(sentences: Sequence[TaggedSentence]) -> list[list[str]]:
    """Give the tags of a document's sentences: an "interpreter lock" ends in no verb."""
    for each in sentences:
        _behind_articles(each)
    sure = [
        (each, at)
        for each in sentences
        for at in (at for at, tag in enumerate(each.tags) if tag == _NOUN and _is_behind_article(each, at))
    ]
    known = _Known(
        frozenset(each.word(at) for each, at in sure),
        frozenset(each.pair(at) for each, at in sure if each.tag(at + 1) in _ANY_NOUN),
        Counter(
            each.pair(at)
            for each in sentences
            for at, tag in enumerate(each.tags)
            if tag == _NOUN
            and each.tag(at + 1) in {*_TAGS_PLAIN, "VBG"}
            and each.tag(at + 2) in _TAGS_BEHIND_NOUNS
        ),
    )
    for each in sentences:
        for at, tag in enumerate(each.tags):
            each.tags[at] = _correct(each, at, tag, known)
    return [each.tags for each in sentences]


def _behind_articles(said: TaggedSentence) -> None:
    for at, tag in enumerate(said.tags):
        if tag in _TAGS_PLAIN and _is_behind_article(said, at):
            said.tags[at] = _NOUN


def _is_behind_article(said: TaggedSentence, at: int) -> bool:
    before = at - 2 if said.tag(at - 1) == "JJ" else at - 1
    return said.word(before) in _DETERMINERS


def _correct(said: TaggedSentence, at: int, tag: str, known: _Known) -> str:
    if tag in _TAGS_PLAIN:
        return _NOUN if _is_first(said, at, known) or _is_last(said, at, known) else tag
    if tag == "VBG":
        return _NOUN if said.tag(at - 1) == _NOUN and _is_repeated(said, at, known) else tag
    if tag == "NNS" and _is_third_person(said, at):
        return _VERB
    return "VB" if tag == _NOUN and (_is_infinitive(said, at, known) or _is_only_verb(said, at)) else tag


def _is_first(said: TaggedSentence, at: int, known: _Known) -> bool:
    """Whether it is as "match statements" where the document has "a match statement" too."""
    return (
        said.tag(at + 1) in _ANY_NOUN
        and said.pair(at) in known.firsts
        and said.tag(at - 1) not in _BEFORE_VERBS
    )


def _is_last(said: TaggedSentence, at: int, known: _Known) -> bool:
    """Whether it ends a phrase: a noun in the singular has no verb in its plain form behind it."""
    is_plural = said.word(at - 1).endswith("s") and not said.word(at - 1).endswith("ss")
    if said.tag(at - 1) != _NOUN or is_plural or said.word(at + 1) in _OBJECTS:
        return False
    before = said.before_phrase(at - 1)
    if said.tag(before) == "MD" or said.word(before) in _CAUSES:
        return False
    return said.word(at) in known.words or _is_repeated(said, at, known)


def _is_repeated(said: TaggedSentence, at: int, known: _Known) -> bool:
    return known.lasts[said.pair(at - 1)] >= _SAID and said.word(at + 1) not in _OBJECTS


def _is_third_person(said: TaggedSentence, at: int) -> bool:
    """Whether it is as in "Tobias measures the time" and "Python disallows", not as in "in use cases the"."""
    if said.tag(at - 1) not in _TAGS_NOUNS or not said.word(at).endswith("s"):
        return False
    word = said.word(at)
    if not is_known(word) and is_verb(word.removesuffix("s")):
        return True
    if (
        said.tag(at - 1) == _NOUN
        and said.tag(at + 1) == "NNS"
        and is_known(f"{word[:-1].removesuffix('e')}ed")
    ):
        return True  # "quantization stores weights"
    before = said.before_phrase(at - 1)
    is_within = said.tag(before) == "IN" and said.word(before) not in _CLAUSES
    is_object = (
        said.word(at + 1) == "that" and said.tag(at + 2) in _TAGS_ENDS
    )  # "honors that.", not "teams that"
    return (is_object or said.word(at + 1) in _OBJECTS) and not is_within


def _is_infinitive(said: TaggedSentence, at: int, known: _Known) -> bool:
    """Whether it is as in "still gain access" and "to drive attackers away", not "to library authors"."""
    before = at - 2 if said.tag(at - 1) == "RB" else at - 1
    word = said.word(at)
    return (
        said.tag(before) in {"TO", "MD"}
        and said.tag(at + 1) in _ANY_NOUN
        and word not in known.words
        and _has_verb_forms(word)
    )


def _has_verb_forms(word: str) -> bool:
    return any(map(is_known, (f"{word}ed", f"{word}{word[-1:]}ed", f"{word.removesuffix('e')}ing")))


def _is_only_verb(said: TaggedSentence, at: int) -> bool:
    """Whether it is the verb of a clause without another: "biologists in Monterey Bay count sea otters"."""
    is_described = said.tag(at + 1) == "JJ"
    behind = said.tag(at + 1 + is_described)
    is_object = behind in _ANY_NOUN or (is_described and behind == "VBZ")  # "polar bears"
    if not is_object or said.tag(len(said.tags) - 1) != "." or not _has_verb_forms(said.word(at)):
        return False
    if said.tag(at - 1) in _TAGS_NAMES:
        place = said.before_phrase(at - 1)
        subject = place - 1 if said.tag(place) == "IN" else -1
    else:
        subject = at - 1
    is_plural = said.tag(subject) == "NNS" and said.word(subject) not in _ATTRIBUTES
    if not (is_plural or said.word(subject) in _SUBJECTS):
        return False
    start, end = at, at + 1
    while start > max(0, at - _MAX_CLAUSE_WORDS) and not said.is_bound(start - 1):
        start -= 1
    while end < at + _MAX_CLAUSE_WORDS and said.tag(end) not in {"", "CC"} and not said.is_bound(end):
        end += 1
    return not any(said.tag(place) in _FINITE and said.tag(place - 1) != "JJ" for place in range(start, end))


# How common a word is in its language at large, by the word lists that wordfreq brings.

_CODES = {"no": "nb"}
"""Names of languages that wordfreq writes another way."""
_PER_BILLION = 9
_RARE = {"en": 4.2, "de": 4.2, "es": 4.1, "zh": 4.5, "ja": 4.2}
UNLISTED = 2.9
"""Of a word that is in no list: the lists end at 3."""


def zipf(word: str, language: str) -> float | None:
    """How common a folded word is: 3 is once in a million words, 6 once in a thousand.

    Returns:
        None where nothing is known of the language.
    """
    known = _frequencies(language)
    return known.get(word, UNLISTED) if known else None


def is_rare(word: str, language: str) -> bool:
    """Whether a word, by itself, belongs to a field: texts at large have it and its singular seldom."""
    folded = word.casefold()
    common = zipf(folded, language)
    if common is None:
        return False
    return max(common, zipf(folded.removesuffix("s"), language) or 0) < _RARE.get(language, 0)


def simplify(text: str) -> str:
    """Chinese in simplified characters, one for each, as the list has it."""
    return text.translate(_simplified())


@cache
def _simplified() -> Mapping[int, str]:
    """By code point. wordfreq gives it to none but its own tokenizer, which needs jieba."""
    import msgpack  # noqa: PLC0415 # with wordfreq

    packed = files("wordfreq").joinpath("data", "_chinese_mapping.msgpack.gz").read_bytes()
    return cast("Mapping[int, str]", msgpack.unpackb(gzip.decompress(packed), strict_map_key=False))


@cache
def _frequencies(language: str) -> Mapping[str, float]:
    """The list is read when a language is first met."""
    from wordfreq import available_languages, get_frequency_dict  # noqa: PLC0415 # 0.3 s and ftfy

    code = _CODES.get(language, language)
    if code not in available_languages("small"):
        return {}
    return {
        word: round(log10(share) + _PER_BILLION, 2)
        for word, share in get_frequency_dict(code, wordlist="small").items()
    }


# Words that make no concept of their own, whatever a document says how often: the files in words/.


@dataclass(frozen=True, slots=True)
class Lists:
    """All of them folded."""

    headings: frozenset[str]
    """Of parts of a document; of one or several words."""
    nouns: frozenset[str]
    """They say something only with another word beside them."""
    weak: frozenset[str]
    """Adjectives that stand before anything."""
    dates: frozenset[str]
    links: frozenset[str]
    """They stand within a name, such as "of"."""
    articles: frozenset[str]
    """Those of `links` that need another one before them."""
    name_starts: frozenset[str]
    """A name may begin with them, such as "new"."""
    verbs: frozenset[str]
    """English ones that look like nouns at the end of a phrase."""
    data_fields: frozenset[str]
    """Of a document's head, whose values are no text."""
    es_heads: frozenset[str]
    """Spanish nouns that head no term."""
    es_openers: frozenset[str]
    """Spanish words behind which a noun stands."""
    es_objects: frozenset[str]
    """Spanish words behind a verb."""
    han_edges: frozenset[str]
    """Chinese characters with which no word begins or ends that no dictionary has."""
    zh_weak: frozenset[str]
    """Chinese nouns that end no term."""
    zh_openers: frozenset[str]
    """Chinese words that begin none."""
    zh_verbs: frozenset[str]
    """Chinese verbs that stand before objects and begin no name."""
    zh_suffixes: frozenset[str]
    """Chinese characters that make a noun of the word before them."""
    zh_sounds: frozenset[str]
    """Chinese characters that write foreign names."""


@cache
def lists() -> Lists:
    """The lists, read once."""
    words = {each.name: frozenset(_read(each.name).split()) for each in fields(Lists)}
    return Lists(**{**words, "headings": frozenset(_read("headings").split("\n"))})


def _read(name: str) -> str:
    text = files("kg_api.extraction").joinpath("words", f"{name}.txt").read_text(encoding="utf-8")
    return text.partition("\n")[2].strip().casefold()


# What of a source is prose: its sentences, and what within them is code, markup or an address.

_MASK = "\x01"
"""Stands for what is no prose, character for character, so that offsets stay."""
_UNREAD: frozenset[BlockKind] = frozenset({"code", "other"})
_RULE = re.compile(r"[\W_]*$")
_DIRECTIVE = re.compile(r"\s*\.\. (?:[\w:-]+::|_[^:]{1,200}:)")
_MARKER = re.compile(r"\s*(?:(?:[-+*•·‣>]|#{1,6}|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\.\. \[[^\]]{1,40}\])\s+)+")
_FIELD = re.compile(r"\s*:?(\w[\w-]{0,24}(?: [\w-]{1,15})?):(?=\s|$)")
_UNMARKED_CODE = re.compile(
    r"\s*(?:>>>|\.\.\.\s|\$ |% |#!|//|/\*|\*/|@\w+(?:\(|$)|import [\w.]+\s*(?:$|,|as )|from [\w.]+ import "
    r"|(?:async )?def \w+|class \w+\s*[(:{]|return\b.*[(\[;=]"
    r"|(?:const|let|var|public|private|static|func) \w+\s*[\w:=({<.]|[\w.\[\]\"']+\s*(?:[-+*/|&^]|:)?=\s*\S"
    r"|[\w.]+\(.*\)\s*[;:{]?\s*$|[\"'][\w-]+[\"']\s*:)"
)
"""A line of code in a block of any kind: text that was copied from a page has code that nothing marks."""
_STATEMENT = re.compile(
    r"\s*(?:(?:if|for|while|with|elif|except)\b.*:\s*$|(?:else|try|finally):|(?:fn|pub|use) \w+\s*[\w:=({<.]"
    r"|</?\w+[^>]*>\s*$)"
)
"""A line of program text that is code; elsewhere it would be prose."""
_SYMBOLS = re.compile(r"[{}\[\]()<>=;_\\|$#@\"`+*&^%~/]")
_DENSE = 0.12
"""Share of characters of code above which a line or a sentence is data, such as a row of figures."""
_INDENTED_DENSE = 0.05
"""The same for an indented line of program text."""
_WRAPPED = range(45, 160)
"""Lengths of a line that was broken where it was full, so that its sentence goes on in the next."""

_NOT_PROSE = re.compile(
    r"""
    ``[^`\n]+(?:\n[^`\n]+)?``                       # code in a line of reStructuredText
    | :[\w:+.-]{1,30}:(?=`)                          # the name of a role; what it says is masked below
    | (?<=<)[^<>`\n]{1,300}(?=>`_)                   # the target of a link
    | (?<![`\w])`[^`\n]{1,200}`(?!_)                 # code in a line
    | <code\b[^<>]{0,300}>[^<>]{0,300}</code>        # code in a line of HTML
    | \]\([^()\s]{0,500}\)                           # the target of a link in Markdown
    | \b(?:https?|ftp|file|mailto|urn):\S{1,2000} | \bwww\.\S{1,2000}
    | [\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+
    | </?[A-Za-z!][^<>\n]{0,300}>                    # tags
    | &\#?\w{1,10};
    | \[[\w\#*]{1,12}\]_?
    | (?<!\w)--?[a-z][\w-]{0,60}                     # options of a command
    | (?<![\w.])[\w$%~\\]{0,60}(?:[_\\=$]|::|\.(?=\w{2})|\(\))[\w$.%/\\=:()\[\]-]{0,500}   # names of code
    | (?<!\w)[~.\w-]{0,60}/[\w.-]{1,60}/[\w./-]{0,500}   # paths
    | (?<!\w)[a-z]{2,40}[A-Z]\w{0,60}                # camelCase
    | [%$]\w{1,60} | \{[^{}\n]{0,200}\}
    """,
    re.VERBOSE,
)
_TITLED_LINK = re.compile(r"(?<![`\w])`([^`<>\n]{1,200})(?:<[^`<>\n]{1,300}>)?`__?")
_CODE_SPAN = re.compile(r"(?<!`)(`{1,2})[^`\n]{1,80}\1(?!`)")
_ABBREVIATIONS = re.compile(r"(?:\w\.)+\w?\.?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of prose, or a line that stands for itself."""

    start: int
    """In code points of the source's text, as `end`."""
    end: int
    text: str
    """text[start:end] of the source, with control characters for what is no prose."""


def sentences(text: str, blocks: Sequence[SourceBlock]) -> Iterator[Sentence]:
    """Give the sentences of a source, in order. None reaches over a block or an item, and code has none."""
    linked = _TITLED_LINK.sub(lambda found: f" {found[1]}{_MASK * (len(found[0]) - len(found[1]) - 1)}", text)
    masked = _NOT_PROSE.sub(_mask, linked)
    for start, end in _joined_lines(text, blocks):
        borders = [start, *sentence_borders(text, start, end), end]
        for begin, stop in pairwise(borders):
            within = text[begin:stop]
            first = begin + len(within) - len(within.lstrip())
            last = begin + len(within.rstrip())
            if first < last and not _is_dense(text[first:last]):
                yield Sentence(first, last, masked[first:last])


def code_lines(text: str, blocks: Sequence[SourceBlock]) -> Iterator[tuple[int, int]]:
    """Give the lines of a source's blocks of code, without the blanks around them."""
    ends = (*(block.start for block in blocks[1:]), len(text))
    for block, end in zip(blocks, ends, strict=False):  # of a source whose blocks are not known, none
        start = block.start
        for line in text[start:end].split("\n") if block.kind == "code" else ():
            body = line.strip()
            if body:
                begin = start + line.index(body)
                yield begin, begin + len(body)
            start += len(line) + 1


def _mask(found: re.Match[str]) -> str:
    said = found[0]
    return said if _ABBREVIATIONS.fullmatch(said) else _MASK * len(said)


def _joined_lines(text: str, blocks: Sequence[SourceBlock]) -> Iterator[tuple[int, int]]:
    """Spans of prose whose lines belong together, within a block each."""
    ends = (*(block.start for block in blocks[1:]), len(text))
    for block, end in zip(blocks or (SourceBlock("paragraph", 0),), ends, strict=True):
        if block.kind not in _UNREAD:
            says_nothing = _is_no_comment if block.kind == "program" else _says_nothing
            yield from _join(text, block.start, end, says_nothing)


def _join(text: str, start: int, end: int, says_nothing: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    begin, stop, wrapped = -1, start, False
    for line in text[start:end].split("\n"):
        skipped = says_nothing(line)
        body = start if skipped else start + _find_start(line)
        goes_on = wrapped or line.lstrip()[:1].islower()
        if begin < 0 or body != start or skipped or not goes_on:
            if begin >= 0:
                yield begin, stop
            begin = -1 if skipped else body
        start += len(line) + 1
        stop = start - 1
        wrapped = len(line.rstrip()) in _WRAPPED
    if begin >= 0:
        yield begin, stop


def _find_start(line: str) -> int:
    """Where a line begins to say something: behind its marks and the name of its field."""
    marks = _MARKER.match(line)
    at = marks.end() if marks else 0
    field = _FIELD.match(line, at)
    return field.end() if field and field.end() < len(line.rstrip()) else at


def _says_nothing(line: str) -> bool:
    """Whether a line is blank or a rule, names a directive, or is a field that says nothing of the text."""
    field = _FIELD.match(line)
    known = field is not None and field[1].lower() in lists().data_fields
    return known or _is_dense(line) or any(each.match(line) for each in (_RULE, _DIRECTIVE, _UNMARKED_CODE))


def _is_no_comment(line: str) -> bool:
    """Whether a line of program text is code, or says nothing for another reason."""
    dense = line.startswith(("    ", "\t")) and _is_dense(line, _INDENTED_DENSE)
    return dense or _STATEMENT.match(line) is not None or _says_nothing(line)


def _is_dense(said: str, share: float = _DENSE) -> bool:
    """Whether so many of the characters are those of code, apart from what is marked as code within text."""
    plain = _TITLED_LINK.sub("", _CODE_SPAN.sub("", said))
    return len(_SYMBOLS.findall(plain)) > len(said.strip()) * share


# Words: where they stand, of which language, and how much each says of its document (by yake-rust).

_LANGUAGES = tuple(
    "en ar bg br da de el es et fa fi fr hi hr hu hy id it lt lv nl no pl pt ro ru sk sl sv tr uk".split()  # noqa: SIM905 - one line says more
)
"""Those with spaces between words that yake-rust brings stop words of; the first is meant when nothing speaks
for another."""
_SPACELESS = rf"[{UNSPACED}ー]"
_IS_SPACELESS = regex.compile(_SPACELESS)
_MAX_WORD_LENGTH = 60
_SAMPLE = 20_000
"""Words by which a language is told."""
_SPOKEN = 0.1
"""Share of stop words in a text of a language that is known."""
_SENTENCE_WORDS = 200
"""What is longer is no sentence; it is ranked in pieces."""

_LETTER = rf"[\p{{L}}--{_SPACELESS}]"
_INNER = rf"[\p{{L}}\p{{M}}\p{{N}}--{_SPACELESS}]"
_TOKEN = regex.compile(
    rf"{_SPACELESS}[\p{{M}}{_SPACELESS}]*+"
    r"|(?:\p{Lu}\.){2,}|\b\p{Lu}\.(?=\s\p{Lu}\p{Ll})"
    rf"|{_LETTER}{_INNER}*n['’]t\b"
    rf"|\bO['’]\p{{Lu}}{_INNER}+"
    r"|['’]s\b"
    rf"|{_LETTER}{_INNER}*+(?:(?:[\-‑–&]|(?<=\p{{N}})\.(?=\p{{N}})){_INNER}{_INNER}*+){{0,6}}(?:\+\+|\#(?!\w))?"
    rf"|\p{{N}}{_INNER}*+(?:[.,]\p{{N}}+)*+"
    r"|\x01+|[^\s\p{L}\p{N}]|\p{L}",
    regex.V1,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a mark; offsets in code points of the source's text."""

    text: str
    start: int
    end: int
    is_word: bool
    """It has letters, of a script that has spaces between words."""

    @property
    def is_capital(self) -> bool:
        """Whether it begins as a name does, in scripts that tell."""
        return self.text[0].isupper()


def tokens(sentence: Sentence) -> list[Token]:
    """The words and marks of a sentence, in order."""
    return [
        Token(said := found[0], at + found.start(), at + found.end(), _is_word(said))
        for at in (sentence.start,)
        for found in _TOKEN.finditer(sentence.text)
    ]


def _is_word(said: str) -> bool:
    is_short = said[0].isalpha() and len(said) <= _MAX_WORD_LENGTH
    return is_short and (said.isascii() or not _IS_SPACELESS.match(said))


def language_of(words: Iterable[str]) -> str:
    """Tell the language of words by the stop words among them; empty for one that is not known."""
    counts = Counter(word.casefold() for word in islice(words, _SAMPLE))
    if not counts:
        return _LANGUAGES[0]
    found = {each: sum(counts[word] for word in stop_words(each) & counts.keys()) for each in _LANGUAGES}
    best = max(_LANGUAGES, key=found.__getitem__)
    if found[best] >= counts.total() * _SPOKEN:
        return best
    return _LANGUAGES[0] if all(word.isascii() for word in counts) else ""


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, folded; none of one that is not known."""
    return frozenset(map(str.casefold, Yake(language=language).stopwords)) if language else frozenset()


def weigh(sentences: Sequence[Sequence[Token]], language: str) -> dict[str, float]:
    """How much each word says of its document: the less the better, above 0; by the folded word.

    YAKE's measure: place, count, spread over sentences, capitals and what stands beside it.
    """
    text = "\n".join(_clean(each) for each in sentences)
    known = Yake(
        stopwords=set(stop_words(language)), ngrams=1, remove_duplicates=False, minimum_chars=1
    ).get_n_best(text, n=len(text) + 1)
    return {word.casefold(): max(weight, 1e-9) for word, weight in known}


def typical(weights: dict[str, float]) -> float:
    """The weight of a word that was not weighed."""
    return median(weights.values()) if weights else 1.0


def _clean(sentence: Sequence[Token]) -> str:
    """Words alone, in sentences of bounded length: YAKE's own reading of hostile text may fail."""
    words = [token.text for token in sentence if token.is_word]
    parts = (words[at : at + _SENTENCE_WORDS] for at in range(0, len(words), _SENTENCE_WORDS))
    return " ".join(f"{' '.join(part)}." for part in parts)


# What each word of a sentence is, as far as a language lets it be told.

Kind = Literal["noun", "plural", "before", "classifying", "common", "verb", "unknown", "other"]
"""A noun; an English one in the plural, in small letters; what may stand before a noun; a German adjective
that is part of a term, and one that is not; an English form in -ing; a word in small letters of a language
whose words are not known; anything else."""

_BEFORE_ADJECTIVES = frozenset({"", "DT", "PRP$", "JJ", "IN", "CC", "CD", "POS", "(", '"'})
"""Tags (Penn Treebank) after which a participle says something of the noun behind it."""
_BEHIND_NOUNS = frozenset({".", ",", ":", ")", "VBZ", "VBP", "VBD", "MD", "CC"})
_DESCRIBED = frozenset({"DT", "PRP$", "JJ", "VBN"})
_ENDS = frozenset({".", ",", ")", "CC"})
_WITHIN = frozenset({",", ";", "(", "'s", "’s", "/"})
_GERMAN_ENDINGS = ("e", "er", "en", "es", "em")
_COMMON_ADJECTIVE = 4.0
_LONG_WORD = 3
_NAME = "NNP"
_NOUNS = frozenset({"NN", "NNS"})


def goes_on(before: Token) -> bool:
    """Whether the word behind this one is in the middle of a sentence, so that its capital says something."""
    return before.is_word or before.text in _WITHIN


def is_title(sentence: Sequence[Token]) -> bool:
    """Whether a line writes all its longer words with capitals, so that they say nothing."""
    long = [token for token in sentence if token.is_word and len(token.text) > _LONG_WORD]
    return len(long) > 1 and all(token.is_capital for token in long)


def kinds_of(sentences: Sequence[Sequence[Token]], language: str) -> list[list[Kind]]:
    """Tell what each word of a document's sentences is."""
    if language == "en":
        owns = [_own_capitals(each) for each in sentences]
        tagged = correct_tags([_tag(each, own) for each, own in zip(sentences, owns, strict=True)])
        return [_english(*each) for each in zip(sentences, owns, tagged, strict=True)]
    if language == "de":
        return [
            [_german(token, after, at) for at, (token, after) in enumerate(zip_longest(each, each[1:]))]
            for each in sentences
        ]
    return [[_any(token) for token in each] for each in sentences]


def _own_capitals(sentence: Sequence[Token]) -> list[bool]:
    title = is_title(sentence)
    return [
        not title and at > 0 and token.is_capital and goes_on(sentence[at - 1])
        for at, token in enumerate(sentence)
    ]


def _tag(sentence: Sequence[Token], own: Sequence[bool]) -> TaggedSentence:
    said = [
        token.text if is_own or not token.text.istitle() else token.text.lower()
        for token, is_own in zip(sentence, own, strict=True)
    ]
    folded = [each.casefold() for each in said]
    return TaggedSentence(
        folded,
        [
            _NAME if tag in _NOUNS and _is_name(token, word) else tag
            for token, word, tag in zip(sentence, folded, tags(said), strict=True)
        ],
    )


def _is_name(token: Token, folded: str) -> bool:
    """Whether a word with a capital is no common one, wherever it stands."""
    return token.is_capital and (token.text.isupper() or not is_known(folded))


def _english(sentence: Sequence[Token], own: Sequence[bool], said: Sequence[str]) -> list[Kind]:
    tagged = ["", *said, "."]
    return [
        _english_kind(token, is_own, tagged[at : at + 3])
        for at, (token, is_own) in enumerate(zip(sentence, own, strict=True))
    ]


def _english_kind(token: Token, own_capital: bool, around: Sequence[str]) -> Kind:
    _, tag, after = around
    if not token.is_word:
        return "other"
    if own_capital:
        return "before" if tag == "JJ" and token.text.isalpha() and not after.startswith("NNP") else "noun"
    if tag.startswith("NN"):
        is_plural = tag == "NNS" and token.text.islower() and token.text[-1] == "s"
        return "plural" if is_plural else "noun"
    return "noun" if _is_mistaken(token, *around) else _describing(*around)


def _describing(before: str, tag: str, after: str) -> Kind:
    """The kind of a word that is no noun by its tag."""
    if tag == "VBN":  # "the published interface", but not "books published in Paris"
        return "before" if before in _BEFORE_ADJECTIVES else "other"
    if tag == "VBG":
        # A noun in "prompt caching reduces costs" and "early stopping of", none in "people running it"
        if before in _DESCRIBED and after.startswith("NN"):  # "a learning rate"
            return "before"
        if before in _DESCRIBED and (after in _BEHIND_NOUNS or after == "IN"):
            return "noun"
        if not before.startswith("NN"):
            return "verb"
        return "noun" if after in _BEHIND_NOUNS else "other"
    return "before" if tag in {"JJ", "FW"} else "other"


def _is_mistaken(token: Token, before: str, tag: str, after: str) -> bool:
    """Whether the tagger took a noun for something else: "the test set.", "the idempotency key stays"."""
    if not _is_plain_noun(token):
        return False
    if tag == "JJ":
        return before in {"NN", "JJ"} and not after.startswith(("NN", "JJ"))
    return before in {"NN", "NNS"} and after in (_BEHIND_NOUNS if tag == "VBN" else _ENDS)


def _is_plain_noun(token: Token) -> bool:
    """Whether a word that the tagger took for another is a noun more often than an adjective."""
    return token.text in lists().nouns and token.text not in lists().weak


def _german(token: Token, after: Token | None, at: int) -> Kind:
    if not token.is_word:
        return "other"
    is_adjective = token.text.endswith(_GERMAN_ENDINGS) and after is not None and after.is_capital
    if token.is_capital:
        return "common" if at == 0 and is_adjective and _is_common_adjective(token.text.lower()) else "noun"
    if not is_adjective:
        return "other"
    return "common" if _is_common_adjective(token.text) else "classifying"


def _is_common_adjective(word: str) -> bool:
    """Whether a German word that is inflected as adjectives are says nothing of a field."""
    stem = next(word.removesuffix(ending) for ending in (*_GERMAN_ENDINGS[1:], "e") if word.endswith(ending))
    return max(zipf(f"{stem}{ending}", "de") or 0 for ending in ("", *_GERMAN_ENDINGS)) >= _COMMON_ADJECTIVE


def _any(token: Token) -> Kind:
    if not token.is_word:
        return "other"
    return "noun" if token.is_capital else "unknown"
