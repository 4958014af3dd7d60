"""Full-text queries of a question, and the language and synonyms of ontologies.

Lucene's own syntax would make errors of `foo/bar`, `AND` and `(`, match all with `*`, and let `title:x` read
other fields (measured on Neo4j 2026.08.1). A quoted word is one clause, whatever the
index's analyzer makes of it, so the server's limit of 1,024 clauses is never met.

Words are asked for in normal form. That of words which a text writes otherwise is indexed beside it, in the
field `scope`, as are parts that the analyzer does not tell apart (kg_api.graph.text_analysis).
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from kg_api.graph.client import ConcurrentChange, Graph, Row, Transaction, portions
from kg_api.graph.names import unknown_ontology
from kg_api.graph.text_analysis import (
    EXTENDING,
    KNOWN_FORMS,
    MAX_VARIANTS,
    OMITTED,
    PIECES,
    SINGLE,
    SYMBOLS,
    TURNS,
    Variant,
    find_hidden_parts,
    find_variants,
    index_in,
    parts,
    runs,
    stop_words_of,
    word_form,
)
from kg_api.normal_form import fold_letters, normalise_text
from kg_api.schemas.base import scope_of_document, scope_of_ontology
from kg_api.schemas.languages import BETWEEN, LANGUAGE_NAMES, OntologyLanguage
from kg_api.schemas.vocabulary import TextLanguage

MAX_TERMS = 64
MAX_STEMS = 64
KNOWN_QUESTIONS = 1024
"""A search takes its question apart three times: to look for it, to judge what is near, and to mark words."""
SCOPES_A_QUERY = 366
"""64 words and 32 variants in four fields and `scope`, 64 stems, a name, 366 scopes: 911 of 1,024 clauses."""
FIELDS = {"full_text": 1.0, "heading": 1.0, "title": 1.0, "document": 0.5}
"""The fields of sources that are searched and their weights."""
CONCEPT_FIELDS = {"label": 2.0, "search_terms": 1.0, "description": 0.5}
"""Those of concepts: what a concept is called says more than what is said of it."""
LIGHT = "^0.5"
"""The weight of stop words. With 0.2, nDCG@10 on xquad en is 0.6 points below equal weights (ADR 57)."""
STEMS_WEIGHT = 1.0
"""The weight of stems. With 0.5, nDCG@10 falls by 0.5 points on xquad de (ADR 57)."""
PARTS_WEIGHT = 1.0
"""Of words that only their parts are found by."""
NAME_WEIGHT = 2.0
"""Of a document whose alias is the whole question."""
PHRASES_WEIGHT = 0.4
"""The weight of two adjacent words. Without it, nDCG@10 falls by 0.4 to 3 points (ADR 46)."""
MAX_PHRASES = 16
"""Lucene counts each word of a phrase as a clause."""

_QUERIES_WORD = rf"\w[\w{EXTENDING}]*"
_WORDS = re.compile(rf"{_QUERIES_WORD}(?:['’.]{_QUERIES_WORD})*")
_RESERVED = re.compile(r'(["\\])')


def terms(text: str) -> list[str]:
    """The words of a text, each once whatever its case, in order; empty when there are none.

    What the analyzer may have stored as one word goes before its parts: `title:secret`, `title`, `secret`.
    They are in normal form, and keep their case: the analyzer folds it as it did for what is stored, which
    Python's rules would not.
    """
    normal = normalise_text(text)
    separate = (
        (found.start(), each)
        for found in _WORDS.finditer(normal)
        for part in PIECES.findall(found[0])
        for each in dict.fromkeys([part, *TURNS.split(part)])
    )
    at = sorted([*_split_joined(normal), *separate], key=lambda each: each[0])
    first: dict[str, str] = {}
    for _, word in at:
        first.setdefault(word.lower(), word)
    return [*first.values()]


@lru_cache(KNOWN_QUESTIONS)
def question_terms(question: str) -> Sequence[str]:
    """The words of a question, remembered."""
    return terms(question)


def word_pairs(text: str) -> list[str]:
    """Words that stand beside each other, in lower case, each pair once: what is said in the same words.

    Words that the index leaves out are among them: `who is on call` has `on call`.
    """
    words = [found[0].lower() for found in _WORDS.finditer(normalise_text(text))]
    return [*dict.fromkeys(map(" ".join, pairwise(words[:MAX_TERMS])))]


def _split_joined(text: str) -> Iterator[tuple[int, str]]:
    """Words that punctuation joins, which are more than one for a reader."""
    for found in runs(text):
        if not _WORDS.fullmatch(found[0]) and parts(found[0]):
            yield found.start(), found[0]


def lucene_queries(
    words: Sequence[str],
    ontologies: Sequence[str] | None = None,
    document_ids: Sequence[str] | None = None,
    fields: Mapping[str, float] = FIELDS,
    *,
    light: Container[str] = (),
    stems: Sequence[str] = (),
    variants: Sequence[Variant] = (),
    name: str | None = None,
    phrases: Sequence[str] = (),
) -> list[str]:
    """Queries in Lucene syntax for any of the words, in some ontologies or documents only.

    Words that are `light`, told in lower case, count half.
    Words beyond the first 64 are left out: the caller says so. There are several queries when the scopes are
    too many for one, and their scores can be compared; none when there is nothing to look for.

    Args:
        words: of a question.
        ontologies: where to look; None: everywhere.
        document_ids: where to look; None: everywhere.
        fields: to look through, with their weights.
        light: words that say little.
        stems: of the words in other languages.
        variants: other ways to write the question's numbers and letters.
        name: the token of the documents whose alias is the question.
        phrases: words that stand beside each other in the question.
    """
    if not words:
        return []
    weighed = [(word, LIGHT if word.lower() in light else "") for word in words[:MAX_TERMS]]
    others = [(each.words, "" if each.weight == 1 else f"^{each.weight}") for each in variants]
    others += [(folded, weight) for word, weight in weighed if (folded := fold_letters(word)) != word]
    weighed += others[:MAX_VARIANTS]
    beside = [
        ("scope", " ".join(map(_quote, stems[:MAX_STEMS])), STEMS_WEIGHT),
        ("scope", name or "", NAME_WEIGHT),
        ("full_text", " ".join(map(_quote, phrases[:MAX_PHRASES])), PHRASES_WEIGHT),
    ]
    asked = _to_lucene(weighed, fields, beside)
    return [" ".join(filter(None, (asked, scope))) for scope in _within(ontologies, document_ids)]


def fuzzy_queries(
    clauses: str,
    ontologies: Sequence[str] | None = None,
    document_ids: Sequence[str] | None = None,
) -> list[str]:
    """Queries for texts with words like one (kg_api.graph.text_analysis), where a search looks."""
    searched = {**FIELDS, "scope": PARTS_WEIGHT}
    asked = f"+({' '.join(f'{name}:({clauses})^{weight}' for name, weight in searched.items())})"
    return [" ".join(filter(None, (asked, scope))) for scope in _within(ontologies, document_ids)]


def _within(ontologies: Sequence[str] | None, document_ids: Sequence[str] | None) -> list[str]:
    if document_ids is not None:
        return _scopes([*map(scope_of_document, document_ids)])
    if ontologies is not None:
        return _scopes([*map(scope_of_ontology, ontologies)])
    return [""]


def _to_lucene(
    weighed: Sequence[tuple[str, str]],
    fields: Mapping[str, float],
    beside: Sequence[tuple[str, str, float]],
) -> str:
    """Each word with its weight in each field, and what is asked besides."""
    plain = " ".join(_quote(word) + weight for word, weight in weighed)
    once: dict[str, str] = {}
    for word, weight in weighed:
        if _may_be_hidden(word):
            once.setdefault(_quote(parts(word)), weight)
    hidden = " ".join(word + weight for word, weight in once.items())
    asked = [(field, plain, weight) for field, weight in fields.items()]
    asked += [each for each in [("scope", hidden, PARTS_WEIGHT), *beside] if each[1]]
    return f"+({' '.join(f'{field}:({each})^{weight}' for field, each, weight in asked)})"


def _may_be_hidden(word: str) -> bool:
    """Not one Chinese character that the analyzer tells apart: few texts have it in `scope`, by chance.

    There it would count as a rare word does: nDCG@10 of Chinese beside other languages 94.5, and 96.5 so.
    """
    return not re.fullmatch(f"[{SINGLE}]", word) or bool(find_hidden_parts([word]))


def _quote(word: str) -> str:
    return '"' + _RESERVED.sub(r"\\\1", word) + '"'


def _scopes(tokens: Sequence[str]) -> list[str]:
    """Filters that leave the score as it is."""
    return [f"+scope:({' '.join(some)})^0" for some in portions(tokens, SCOPES_A_QUERY)]


# Where the words of a question stand in a text, by the rules of the full-text index. Pure.
#
# A text is taken apart as it is for the index: the parts of joined words one by one, and character by
# character
# what is written without spaces.

MAX_MATCHES = 50
"""Places of one text that are told: the first ones."""
MAX_SCANNED = 200_000
"""Characters that are looked through: 20 ms."""

_WORD = re.compile(rf"(?:[^\W_]+|[{SYMBOLS}])(?:[{EXTENDING}{SYMBOLS}]+[^\W_]*)*")
_JOINT = re.compile(r"\s*|_+|\s?°\s?|[-^'’＇.:/·]")
_POSSESSIVE = re.compile(r"(?<=[^\W_])['’＇][sS](?![^\W_])")


class IndexToken(NamedTuple):
    """A word of a text, or a part of one, and what it is compared by."""

    start: int
    end: int
    form: str


class QuestionWords:
    """The words of a question; made once, looked for in many texts.

    A word that says something is marked wherever it stands. Stop words are marked only as part of a phrase:
    words beside each other as in the question, one of which says something.
    """

    def __init__(self, question: str) -> None:
        asked = [_POSSESSIVE.sub("", word) for word in question_terms(question)[:MAX_TERMS]]
        variants = [_forms(each.words) for each in find_variants(question)]
        telling = [*map(_forms, _telling(asked)), *variants]
        self._telling = frozenset(form for forms in telling for form in forms)
        self._alone = frozenset(forms[0] for forms in telling if len(forms) == 1)
        known = frozenset(form for word in asked for form in _forms(word))
        every = _forms(_POSSESSIVE.sub("", normalise_text(question))) if asked else []
        self._pairs = frozenset(pair for pair in pairwise(every) if known.issuperset(pair)).union(
            pair for forms in variants for pair in pairwise(forms)
        )
        self._wanted = self._alone.union(*self._pairs)
        self._seen: dict[str, tuple[IndexToken, ...]] = {}
        # A stem begins as its word does, so one expression finds the few words of a text that may be wanted.
        # What stands before a word is checked behind its first letters: a search for letters is the quickest
        begin = {form[:2] for form in self._wanted if form[:2].isascii()}
        parted = ((n, "|".join(re.escape(each) for each in begin if len(each) == n)) for n in (2, 1))
        found = [rf"(?:{letters})(?<![a-z0-9].{{{n}}})" for n, letters in parted if letters]
        self._plain = re.compile(rf"(?:{'|'.join(found)})[a-z0-9]*", re.DOTALL) if found else None

    def find(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each place, in order, none overlapping; no more than the first 50.

        One loop without helpers: a search runs it over all that it shows, and a call per word took twice as
        long.
        """
        text = text[:MAX_SCANNED]
        if not text.isascii():
            words = _WORD.finditer(text)
        elif self._plain is None:
            return []
        else:
            words = self._plain.finditer(text.lower())
        found: list[tuple[int, int]] = []
        # The phrase that may go on: start, end, last form, length, and whether a word of it says something
        begun, ended, last, length, says = 0, 0, "", 0, False
        for word in words:
            known = self._seen.get(word[0])
            if known is None:
                known = tuple(each for each in _split(word[0]) if each.form in self._wanted)
                self._seen[word[0]] = known
            for token in known:
                start, form = word.start() + token.start, token.form
                goes_on = (
                    length > 0
                    and (last, form) in self._pairs
                    and (start < ended or _JOINT.fullmatch(text, ended, start) is not None)
                )
                if goes_on:
                    says, length = says or form in self._telling, length + 1
                else:
                    self._add(found, begun, ended, last, length, says=says)
                    begun, says, length = start, form in self._telling, 1
                ended, last = word.start() + token.end, form
            if len(found) == MAX_MATCHES:
                return found
        self._add(found, begun, ended, last, length, says=says)
        return found[:MAX_MATCHES]

    def _add(
        self, found: list[tuple[int, int]], begun: int, ended: int, last: str, length: int, *, says: bool
    ) -> None:
        """Add a phrase if it says something. One word may have several parts, which overlap."""
        if length == 0 or (found and begun < found[-1][1]):
            return
        if last in self._alone if length == 1 else (says or not self._telling):
            found.append((begun, ended))


@lru_cache(KNOWN_QUESTIONS)
def words_of_question(question: str) -> QuestionWords:
    """Return the words of a question, remembered: people ask the same again and page through answers."""
    return QuestionWords(question)


@lru_cache(KNOWN_FORMS)
def _split(word: str) -> tuple[IndexToken, ...]:
    """The tokens that a word has, from 0; several of one character where it means several."""
    if word.isascii():
        return (IndexToken(0, len(word), word_form(word)),)
    return tuple(
        IndexToken(part.start(), part.end(), word_form(said))
        for part in PIECES.finditer(word)
        for said in parts(part[0]).split()
    )


def _forms(text: str) -> list[str]:
    return [token.form for word in _WORD.finditer(text) for token in _split(word[0])]


def _telling(words: list[str]) -> list[str]:
    """The words that say something; without any, those that the index has."""
    stop = stop_words_of(words) | OMITTED
    known = [word for word in words if word.lower() not in OMITTED]
    return [word for word in known if word.lower() not in stop] or known


# Words that an ontology takes for each other: stored with it, added to questions. The last part is pure.

MAX_ADDED = 16
"""Words that are added to one question."""

Groups = Sequence[Sequence[str]]
_SYNONYMS_WORDS = re.compile(r"(?<!\S)\.\w+|\w+(?:\+\+|[+#]+(?![+#\w]))?")
"""Signs that make another word are of it: C, C++ and C#; net and .NET."""


def read_synonyms(graph: Graph, ontology: str) -> Groups:
    """Of one ontology.

    Raises:
        NotFound: there is no such ontology.
    """
    found = graph.search("ontologies/synonyms", name=ontology)
    if not found:
        raise unknown_ontology(graph, ontology)
    return _groups(found[0]["synonyms"])


@dataclass(frozen=True, slots=True)
class OntologyWords:
    """What an ontology says of its words."""

    synonyms: Groups = ()
    language: str | None = None
    """Of all its sources; None: each has its own."""


def all_words(graph: Graph) -> Mapping[str, OntologyWords]:
    """Of all ontologies that say anything."""
    rows = graph.search("ontologies/synonyms", name=None)
    return {row["ontology"]: OntologyWords(_groups(row["synonyms"]), row["language"]) for row in rows}


def write_synonyms(tx: Transaction, ontology: str, groups: Groups) -> None:
    """In the place of those there are.

    Raises:
        NotFound: there is no such ontology.
    """
    stored = [BETWEEN.join(group) for group in groups]
    if not tx.run("ontologies/set_synonyms", name=ontology, synonyms=stored):
        raise unknown_ontology(tx, ontology)


def synonyms_in(text: str, groups: Iterable[Sequence[str]]) -> list[str]:
    """What is added to a question: the others of each group of which it has one, each once, sixteen at most.

    Case does not count; several words count where they stand in a row.
    """
    asked = _in_a_row(text)
    added: dict[str, str] = {}
    for group in groups:
        spelt = {word: _in_a_row(word) for word in group}
        if any(own in asked for own in spelt.values()):
            added |= {row: word for word, row in spelt.items() if row not in asked}
    return [*added.values()][:MAX_ADDED]


def _in_a_row(text: str) -> str:
    """Its words, a blank around each, so that one is found as a whole."""
    return f" {' '.join(_SYNONYMS_WORDS.findall(unicodedata.normalize('NFC', text).casefold()))} "


def _groups(stored: Iterable[str]) -> Groups:
    return [each.split(BETWEEN) for each in stored]


# The language in which an ontology's sources are indexed: stored with it, and applied in portions.

MAX_SECONDS: Final = 15.0
"""One request indexes sources for so long at most; the next one goes on where it stopped."""
_CODES: Final = {name: code for code, name in LANGUAGE_NAMES.items()}


def require_language(found: list[Row], language: str | None) -> None:
    """See, before a transaction that indexes sources is committed, that it did so in the right language.

    Raises:
        ConcurrentChange: another was chosen since; the transaction is done again.
    """
    if found and found[0]["language"] != language:
        raise ConcurrentChange


def read_language(graph: Graph, ontology: str) -> OntologyLanguage:
    """Of one ontology.

    Raises:
        NotFound: there is no such ontology.
    """
    found = graph.read("ontologies/language", name=ontology)
    if not found:
        raise unknown_ontology(graph, ontology)
    return OntologyLanguage(
        ontology=ontology, language=_code(found[0]["language"]), complete=found[0]["after"] is None
    )


def choose_language(
    graph: Graph, ontology: str, language: TextLanguage, *, seconds: float = MAX_SECONDS
) -> OntologyLanguage:
    """Have the sources of an ontology indexed in a language, for so long; the same call goes on.

    Documents that come meanwhile are indexed in it at once. Searches find all sources by their words as they
    stand throughout.

    Raises:
        NotFound: there is no such ontology.
    """
    name = LANGUAGE_NAMES.get(language)
    place = graph.transaction(lambda tx: _choose(tx, ontology, name))
    until, indexed = time.monotonic() + seconds, 0
    while place["after"] is not None and time.monotonic() < until:
        rows = graph.transaction(lambda tx, place=place: _index(tx, ontology, name, place))
        if rows is None:
            break  # another language was chosen: that request goes on
        indexed, place = indexed + len(rows), _behind(rows)
    return OntologyLanguage(
        ontology=ontology, language=language, complete=place["after"] is None, indexed=indexed
    )


def write_language(tx: Transaction, ontology: str, language: TextLanguage) -> None:
    """Choose the language of an ontology that has no sources yet, in the transaction that makes it.

    Raises:
        NotFound: there is no such ontology.
    """
    name = LANGUAGE_NAMES.get(language)
    place = _choose(tx, ontology, name)
    if place["after"] is not None:
        _index(tx, ontology, name, place)


def _choose(tx: Transaction, ontology: str, language: str | None) -> Row:
    """Where indexing in it begins."""
    found = tx.run("ontologies/set_language", name=ontology, language=language)
    if not found:
        raise unknown_ontology(tx, ontology)
    return found[0]


def _index(tx: Transaction, ontology: str, language: str | None, place: Row) -> list[Row] | None:
    rows = index_in(tx, ontology, language, (place["after"], place["after_paragraph"]))
    held = tx.run("ontologies/advance_language", name=ontology, language=language, **_behind(rows))
    return rows if held else None


def _behind(rows: list[Row]) -> dict[str, Any]:
    if not rows:
        return {"after": None, "after_paragraph": None}
    return {"after": rows[-1]["document_id"], "after_paragraph": rows[-1]["paragraph"]}


def _code(name: str | None) -> Any:
    return "auto" if name is None else _CODES[name]
