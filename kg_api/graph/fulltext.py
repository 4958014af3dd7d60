"""Full-text queries, matches to mark in texts, and the synonyms and language to use for ontologies.

Raw Lucene syntax would fail on `foo/bar`, `AND`, and `(`, match everything with `*`, and let `title:x` read
other fields (measured on Neo4j 2026.08.1). A quoted word is one clause, whatever the index's analyzer makes
of it, so queries stay below the server's limit of 1,024 clauses.

Queries use the normal form of words. The field `scope` contains it for texts with another spelling, and the
parts of words that the analyzer keeps joined (kg_api.graph.text_analysis).
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Final, NamedTuple

from kg_api.graph.client import ConcurrentChange, Graph, Row, Transaction, split_into_portions
from kg_api.graph.names import report_unknown_ontology
from kg_api.graph.spellings import MAX_VARIANTS, Variant, find_variants
from kg_api.graph.text_analysis import (
    EXTENDING,
    HANGUL,
    JOINING,
    KNOWN_FORMS,
    OMITTED,
    PIECES,
    SINGLE,
    SPACELESS,
    SYMBOLS,
    TURNS,
    complete_stems,
    find_hidden_parts,
    find_stop_words,
    has_spaceless,
    index_language_batch,
    is_joined,
    locate_joined_parts,
    locate_pairs,
    normalize_word,
    runs,
    split_parts,
    split_spaceless,
)
from kg_api.normal_form import fold_letters, normalise_text
from kg_api.schemas.base import build_document_scope, build_ontology_scope
from kg_api.schemas.languages import BETWEEN, LANGUAGE_NAMES, OntologyLanguage
from kg_api.schemas.vocabulary import TextLanguage

MAX_TERMS = 64
MAX_STEMS = 64
KNOWN_QUESTIONS = 1024
"""Questions to cache. They are parsed three times: to query, to assess results, and to mark words."""
SCOPES_A_QUERY = 366
"""64 words and 32 variants in four fields and `scope`, 64 stems, a name, and 366 scopes: 911 of 1,024
clauses."""
FIELDS = {"full_text": 1.0, "heading": 1.0, "title": 1.0, "document": 0.5}
"""Fields to search in sources, with weights."""
CONCEPT_FIELDS = {"label": 2.0, "search_terms": 1.0, "description": 0.5}
"""Fields to search in concepts, with weights. Names have more weight than descriptions."""
LIGHT = "^0.5"
"""Weight to use for stop words. With 0.2, nDCG@10 on xquad en is 0.6 points below equal weights (ADR 57)."""
STEMS_WEIGHT = 1.0
"""Weight to use for stems. With 0.5, nDCG@10 is 0.5 points lower on xquad de (ADR 57)."""
PARTS_WEIGHT = 1.0  # weight of words that only their parts find
NAME_WEIGHT = 2.0  # weight of a document whose alias equals the question
PHRASES_WEIGHT = 0.4
"""Weight to use for two adjacent words. Without it, nDCG@10 is 0.4 to 3 points lower (ADR 46)."""
MAX_PHRASES = 16  # maximum phrases, because Lucene counts each word of a phrase as a clause

_QUERIES_WORD = rf"\w[\w{EXTENDING}]*"
_WORDS = re.compile(rf"{_QUERIES_WORD}(?:['’.]{_QUERIES_WORD})*")
_WITHOUT_SPACES = re.compile(f"[{SINGLE}{SPACELESS}]")
_SCOPE_TOKEN = re.compile("k(g|$)")
_RESERVED = re.compile(r'(["\\])')


def list_terms(text: str) -> list[str]:
    """Return the distinct words of a text, ignoring case.

    A word that the analyzer may store as one token precedes its parts: `title:secret`, `title`, `secret`. In
    Thai and similar scripts, two adjacent characters are a word. The words are in normal form and keep their
    case. The analyzer folds the case of queries and texts alike, but Python's rules differ.
    """
    normal = normalise_text(text)
    separate = (
        (found.start(), each)
        for found in _WORDS.finditer(normal)
        for part in PIECES.findall(found[0])
        for each in _split_term(part)
    )
    at = sorted([*_split_joined(normal), *separate], key=lambda each: each[0])
    first: dict[str, str] = {}
    for word in chain((word for _, word in at), _split_at_non_joiners(text)):
        first.setdefault(word.lower(), word)
    return [*first.values()]


def _split_term(part: str) -> Iterable[str]:
    if not has_spaceless(part):
        return dict.fromkeys([part, *TURNS.split(part)])
    pairs = split_spaceless(part)
    return [part, *pairs] if is_joined(part) else pairs


@lru_cache(KNOWN_QUESTIONS)
def split_question_terms(question: str) -> Sequence[str]:
    return list_terms(question)


def list_word_pairs(text: str) -> list[str]:
    """List pairs of adjacent words in lower case, each once.

    Pairs include words that the index ignores: `who is on call` contains `on call`.
    """
    words = [found[0].lower() for found in _WORDS.finditer(normalise_text(text))]
    return [*dict.fromkeys(map(" ".join, pairwise(words[:MAX_TERMS])))]


MIN_PREFIX = 2
"""Minimum characters in an unfinished word. A single letter would match most texts."""


def find_unfinished(text: str) -> str | None:
    """Find the last word in lower case if the text ends with it and its script separates words."""
    normal = normalise_text(text)
    last = max(_WORDS.finditer(normal), key=lambda found: found.start(), default=None)
    if last is None or last.end() < len(normal) or _WITHOUT_SPACES.search(last[0]):
        return None
    return last[0].lower() if len(last[0]) >= MIN_PREFIX else None


def _split_at_non_joiners(text: str) -> Iterator[str]:
    for found in runs(text) if "\u200c" in text else ():
        for start, end in locate_joined_parts(found[0]):
            yield normalise_text(found[0][start:end])


def _split_joined(text: str) -> Iterator[tuple[int, str]]:
    """Split the positions and words that punctuation joins and a reader sees as several words."""
    for found in runs(text):
        if not _WORDS.fullmatch(found[0]) and not has_spaceless(found[0]) and split_parts(found[0]):
            yield found.start(), found[0]


def build_lucene_queries(
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
    prefix: str | None = None,
) -> list[str]:
    """Build Lucene queries to find any of the words, limited to ontologies or documents.

    kg ignores words beyond the first 64, and the caller reports them. Too many scopes produce several queries
    with comparable scores. Without words there are no queries.

    Args:
        words: Words of a question.
        ontologies: Ontologies to search. None: all.
        document_ids: Documents to search. None: all.
        fields: Fields to search, with weights.
        light: Stop words in lower case, and stems, that get half the weight.
        stems: Stems of the words in other languages.
        variants: Other spellings of the question's numbers and letters.
        name: Token of the documents whose alias equals the question.
        phrases: Adjacent words of the question.
        prefix: Unfinished word of the question.
    """
    if not words:
        return []
    weighed = [(word, LIGHT if word.lower() in light else "") for word in words[:MAX_TERMS]]
    others = [(each.words, "" if each.weight == 1 else f"^{each.weight}") for each in variants]
    others += [(folded, weight) for word, weight in weighed if (folded := fold_letters(word)) != word]
    weighed += others[:MAX_VARIANTS]
    stemmed = (_quote(each) + (LIGHT if each in light else "") for each in stems[:MAX_STEMS])
    beside = [
        ("scope", " ".join(stemmed), STEMS_WEIGHT),
        ("scope", name or "", NAME_WEIGHT),
        ("full_text", " ".join(map(_quote, phrases[:MAX_PHRASES])), PHRASES_WEIGHT),
    ]
    if prefix:
        weighed += [(each, "") for each in complete_stems(prefix)]
        # `scope` contains the parts of joined words, and the tokens `kgo...`, which no prefix may match
        beside.append(
            ("scope", "" if _SCOPE_TOKEN.match(prefix) else f"{fold_letters(prefix)}*", PARTS_WEIGHT)
        )
    query = _to_lucene(weighed, fields, beside, f" {prefix}*" if prefix else "")
    return [" ".join(filter(None, (query, scope))) for scope in _build_scopes(ontologies, document_ids)]


def build_fuzzy_queries(
    clauses: str, ontologies: Sequence[str] | None = None, document_ids: Sequence[str] | None = None
) -> list[str]:
    """Build queries to find texts with words that are similar to a word (kg_api.graph.text_analysis)."""
    searched = {**FIELDS, "scope": PARTS_WEIGHT}
    query = f"+({' '.join(f'{name}:({clauses})^{weight}' for name, weight in searched.items())})"
    return [" ".join(filter(None, (query, scope))) for scope in _build_scopes(ontologies, document_ids)]


def _build_scopes(ontologies: Sequence[str] | None, document_ids: Sequence[str] | None) -> list[str]:
    if document_ids is not None:
        return _build_scope_filters([*map(build_document_scope, document_ids)])
    if ontologies is not None:
        return _build_scope_filters([*map(build_ontology_scope, ontologies)])
    return [""]


def _to_lucene(
    weighed: Sequence[tuple[str, str]],
    fields: Mapping[str, float],
    beside: Sequence[tuple[str, str, float]],
    begun: str,
) -> str:
    """Build a clause for each word with its weight in each field, and add other clauses."""
    plain = " ".join(_quote(word) + weight for word, weight in weighed) + begun
    once: dict[str, str] = {}
    for word, weight in weighed:
        if _may_be_hidden(word):
            once.setdefault(_quote(split_parts(word)), weight)
    hidden = " ".join(word + weight for word, weight in once.items())
    weighted_fields = [(field, plain, weight) for field, weight in fields.items()]
    weighted_fields += [each for each in [("scope", hidden, PARTS_WEIGHT), *beside] if each[1]]
    return f"+({' '.join(f'{field}:({each})^{weight}' for field, each, weight in weighted_fields)})"


def _may_be_hidden(word: str) -> bool:
    """Return False for a single Chinese character that the analyzer separates.

    Few texts contain such a character in `scope`, so it would score like a rare word. nDCG@10 of mixed
    Chinese texts rises from 94.5 to 96.5 without it.
    """
    return not re.fullmatch(f"[{SINGLE}]", word) or bool(find_hidden_parts([word]))


def _quote(word: str) -> str:
    return '"' + _RESERVED.sub(r"\\\1", word) + '"'


def _build_scope_filters(tokens: Sequence[str]) -> list[str]:
    """Build filters that do not change the score."""
    return [f"+scope:({' '.join(some)})^0" for some in split_into_portions(tokens, SCOPES_A_QUERY)]


# Matches of question words in texts, by the rules of the full-text index
#
# The code splits a text like the index: joined words into parts, and scripts without spaces into characters.

MAX_MATCHES = 50  # maximum number of matches to report per text
MAX_SCANNED = 200_000  # maximum number of characters to scan, which takes 20 ms

_WORD = re.compile(rf"(?:[^\W_]+|[{SYMBOLS}])(?:[{EXTENDING}{SYMBOLS}]+[^\W_]*)*")
_JOINT = re.compile(r"\s*|_+|\s?°\s?|[-^'’＇.,:/·]")
_HANGUL = re.compile(f"[{HANGUL}]")
_PLAIN_WORD = re.compile(r"[^\W_]+")
"""For texts without joining characters, twice as fast as `_WORD`."""
_ASCII_WORDS = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
"""Translation table: letters in lower case and digits. All other characters become spaces."""
_POSSESSIVE = re.compile(r"(?<=[^\W_])['’＇][sS](?![^\W_])")


class IndexToken(NamedTuple):
    """Word in a text, or part of a word, with the form to compare it."""

    start: int
    end: int
    form: str


class QuestionWords:
    """Words in a question, prepared to be used for many texts.

    Each significant word is a match. Stop words match only as part of a phrase: adjacent words of the
    question with at least one significant word.
    """

    def __init__(self, question: str, prefix: str | None = None) -> None:
        # Texts may have invisible characters and vowel signs that the normal form omits
        letters_begun = f"[{EXTENDING}]*".join(map(re.escape, prefix or ""))
        prefixed = rf"(?<![^\W_]){letters_begun}[\w{EXTENDING}]*"
        self._prefixed = re.compile(prefixed, re.IGNORECASE) if prefix else None
        question_words = [_POSSESSIVE.sub("", word) for word in split_question_terms(question)[:MAX_TERMS]]
        variants = [_list_forms(each.words) for each in find_variants(question)]
        significant = [*map(_list_forms, _select_significant(question_words))]
        telling = [*significant, *variants]
        # In a variant such as `6,000.00`, the end also belongs to `1,000.00`
        self._telling = frozenset(chain(*significant, (forms[0] for forms in variants)))
        known = frozenset(form for word in question_words for form in _list_forms(word))
        words = _split_words(_POSSESSIVE.sub("", normalise_text(question))) if question_words else []
        every = [*chain(*words)]
        self._pairs = frozenset(pair for pair in pairwise(every) if known.issuperset(pair)).union(
            pair for forms in variants for pair in pairwise(forms)
        )
        beside = frozenset(chain(*self._pairs))
        alone = (forms[0] for forms in telling if len(forms) == 1)
        # In scripts without spaces, one or two characters of a longer word are in many other words
        # In Korean, particles follow a word without a space
        longer = (forms[bool(_HANGUL.match(forms[0])) :] for forms in words if len(forms) > 1)
        joined = frozenset(chain(*longer))
        self._alone = frozenset(
            form for form in alone if form not in joined or not _WITHOUT_SPACES.search(form)
        )
        self._wanted = self._alone | beside
        self._seen: dict[str, tuple[IndexToken, ...]] = {}
        letters = {re.escape(form[:2]) for form in self._wanted if form}
        self._candidates = re.compile(f" ((?:{'|'.join(sorted(letters))})[^ ]*)") if letters else None

    def find(self, text: str) -> list[tuple[int, int]]:
        """Find the first 50 matches, with start and end. They are in order and do not overlap."""
        text, found = text[:MAX_SCANNED], list[tuple[int, int]]()
        matches: Iterable[tuple[int, int]] = self._find_phrases(text)
        if self._prefixed:
            prefixed = (each.span() for each in self._prefixed.finditer(text))
            matches = sorted([*matches, *prefixed], key=lambda each: (each[0], -each[1]))
        for each in matches:
            if not found or each[0] >= found[-1][1]:  # the parts of one word may overlap
                found.append(each)
                if len(found) == MAX_MATCHES:
                    break
        return found

    def _find_phrases(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the significant phrases. Tokens form a phrase if they are adjacent in text and question.

        Only whitespace or a joining character may be between two tokens. One loop takes 40 % less time than
        a generator for each step.
        """
        start = end = 0
        last: str | None = None  # form of the last token
        telling = shown = False  # whether a token of the phrase is significant, and whether the phrase is
        for at, stop, form in self._find_tokens(text):
            if (last, form) in self._pairs and (at < end or _JOINT.fullmatch(text, end, at)):
                telling = telling or form in self._telling
                shown = telling or not self._telling
            else:
                if shown:
                    yield start, end
                start, telling, shown = at, form in self._telling, form in self._alone
            end, last = stop, form
        if shown:
            yield start, end

    def _find_tokens(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Find the tokens that can match, in order, with start, end, and form."""
        if not text.isascii():
            words = _PLAIN_WORD if JOINING.isdisjoint(text) else _WORD
            for word in words.finditer(text):
                at = word.start()
                for start, end, form in self._match_word(word[0]):
                    yield at + start, at + end, form
        elif self._candidates:  # look for the first letters only: a stem has the same as its word
            seen = self._seen
            for found in self._candidates.finditer(f" {text.translate(_ASCII_WORDS)} "):
                word = found[1]
                tokens = seen[word] if word in seen else self._match_word(word)
                if tokens:  # one, because the word has ASCII letters only
                    yield found.start(), found.end() - 1, tokens[0].form

    def _match_word(self, word: str) -> tuple[IndexToken, ...]:
        """Split a word into tokens, and keep those in the question, with positions from 0."""
        known = self._seen.get(word)
        if known is None:
            every = _split(word)
            known = self._seen[word] = tuple(each for each in every if each.form in self._wanted)
        return known


@lru_cache(KNOWN_QUESTIONS)
def parse_question_words(question: str, prefix: str | None = None) -> QuestionWords:
    """Parse the words of a question. The cache serves repeated questions and further pages."""
    return QuestionWords(question, prefix)


@lru_cache(KNOWN_FORMS)
def _split(word: str) -> tuple[IndexToken, ...]:
    """Split the tokens of a word, with positions from 0. One character may yield several tokens."""
    if word.isascii():
        return (IndexToken(0, len(word), normalize_word(word)),)
    return tuple(
        IndexToken(part.start() + start, part.start() + end, normalize_word(word_part))
        for part in PIECES.finditer(word)
        for start, end in locate_pairs(part[0]) or [(0, len(part[0])), *locate_joined_parts(part[0])]
        for word_part in split_parts(part[0][start:end]).split()
    )


def _list_forms(text: str) -> list[str]:
    return [*chain(*_split_words(text))]


def _split_words(text: str) -> list[list[str]]:
    """Split the forms of each word. In scripts without spaces, a word is the text up to the next sign."""
    return [[token.form for token in _split(word[0])] for word in _WORD.finditer(text)]


def _select_significant(words: list[str]) -> list[str]:
    """Select the significant words. If there are none, use all words that are indexed."""
    stop = find_stop_words(words) | OMITTED
    known = [word for word in words if word.lower() not in OMITTED]
    return [word for word in known if word.lower() not in stop] or known


# Synonyms of ontologies

MAX_ADDED = 16  # maximum number of synonyms to add to a question

Groups = Sequence[Sequence[str]]
_SYNONYMS_WORDS = re.compile(rf"(?<!\S)\.{_QUERIES_WORD}|{_QUERIES_WORD}(?:\+\+|[+#]+(?![+#\w]))?")
"""Words with their symbols, to see the difference between C, C++, and C#, or net and .NET."""


def read_synonyms(graph: Graph, ontology: str) -> Groups:
    found = graph.search("ontologies/synonyms", name=ontology)
    if not found:
        raise report_unknown_ontology(graph, ontology)
    return _parse_groups(found[0]["synonyms"])


@dataclass(frozen=True, slots=True)
class OntologyWords:
    synonyms: Groups = ()
    language: str | None = None  # language of all its sources (None: each has its own)


def read_all_word_settings(graph: Graph) -> Mapping[str, OntologyWords]:
    rows = graph.search("ontologies/synonyms", name=None)
    return {row["ontology"]: OntologyWords(_parse_groups(row["synonyms"]), row["language"]) for row in rows}


def write_synonyms(tx: Transaction, ontology: str, groups: Groups) -> None:
    stored = [BETWEEN.join(group) for group in groups]
    if not tx.run("ontologies/set_synonyms", name=ontology, synonyms=stored):
        raise report_unknown_ontology(tx, ontology)


def find_synonyms(text: str, groups: Iterable[Sequence[str]]) -> list[str]:
    """Find up to 16 synonyms to add. If a text has a word from a group, use the others.

    Case is ignored. Several words must be adjacent.
    """
    joined = _join_words(text)
    added: dict[str, str] = {}
    for group in groups:
        spelt = {word: _join_words(word) for word in group}
        if any(own in joined for own in spelt.values()):
            added |= {row: word for word, row in spelt.items() if row not in joined}
    return [*added.values()][:MAX_ADDED]


def _join_words(text: str) -> str:
    """Surround each word with spaces, to find whole words."""
    return f" {' '.join(_SYNONYMS_WORDS.findall(unicodedata.normalize('NFC', text).casefold()))} "


def _parse_groups(stored: Iterable[str]) -> Groups:
    return [each.split(BETWEEN) for each in stored]


# Index language of ontologies

MAX_SECONDS: Final = 15.0
"""Time limit for a request. The next request will continue from there."""
_CODES: Final = {name: code for code, name in LANGUAGE_NAMES.items()}


def require_language(found: list[Row], language: str | None) -> None:
    """Raise ConcurrentChange before the commit if the language has been changed by others."""
    if found and found[0]["language"] != language:
        raise ConcurrentChange


def read_language(graph: Graph, ontology: str) -> OntologyLanguage:
    found = graph.read("ontologies/language", name=ontology)
    if not found:
        raise report_unknown_ontology(graph, ontology)
    return OntologyLanguage(
        ontology=ontology, language=_code(found[0]["language"]), complete=found[0]["after"] is None
    )


def choose_language(
    graph: Graph, ontology: str, language: TextLanguage, *, seconds: float = MAX_SECONDS
) -> OntologyLanguage:
    """Set the language to use for an ontology, and re-index its sources within the time limit.

    Repeat the call until it is complete. New documents use the language at once. Searches find all sources by
    their original words during the change.
    """
    name = LANGUAGE_NAMES.get(language)
    place = graph.transaction(lambda tx: _choose(tx, ontology, name))
    until, indexed = time.monotonic() + seconds, 0
    while place["after"] is not None and time.monotonic() < until:
        rows = graph.transaction(lambda tx, place=place: _index(tx, ontology, name, place))
        if rows is None:
            break  # another request set a different language and continues
        indexed, place = indexed + len(rows), _build_cursor_filter(rows)
    return OntologyLanguage(
        ontology=ontology, language=language, complete=place["after"] is None, indexed=indexed
    )


def write_language(tx: Transaction, ontology: str, language: TextLanguage) -> None:
    """Set the language for an ontology that has no sources, in the transaction that creates it."""
    name = LANGUAGE_NAMES.get(language)
    place = _choose(tx, ontology, name)
    if place["after"] is not None:
        _index(tx, ontology, name, place)


def _choose(tx: Transaction, ontology: str, language: str | None) -> Row:
    """Set the language, and find the position to start indexing."""
    found = tx.run("ontologies/set_language", name=ontology, language=language)
    if not found:
        raise report_unknown_ontology(tx, ontology)
    return found[0]


def _index(tx: Transaction, ontology: str, language: str | None, place: Row) -> list[Row] | None:
    rows = index_language_batch(tx, ontology, language, (place["after"], place["after_paragraph"]))
    held = tx.run(
        "ontologies/advance_language", name=ontology, language=language, **_build_cursor_filter(rows)
    )
    return rows if held else None


def _build_cursor_filter(rows: list[Row]) -> dict[str, Any]:
    if not rows:
        return {"after": None, "after_paragraph": None}
    return {"after": rows[-1]["document_id"], "after_paragraph": rows[-1]["paragraph"]}


def _code(name: str | None) -> Any:
    return "auto" if name is None else _CODES[name]
