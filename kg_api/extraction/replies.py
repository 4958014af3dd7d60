"""Reading a language model's answer: only concepts whose quotes stand in the text count; budgets."""

from __future__ import annotations

import json
import math
import re
import threading
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

from rapidfuzz import fuzz

from kg_api.errors import BudgetSpent, ConfigurationError
from kg_api.graph.cache import write_contexts
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_writes import add_spent, read_spent
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.providers.chat import RESTART, Prompt, Reply, as_list, price_of, tokens_of
from kg_api.schemas.base import concept_name, one_line
from kg_api.schemas.concepts import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.schemas.documents import SourceSpan
from kg_api.sections import LlmSettings
from kg_api.suggestions import WITHOUT_BLANKS, FoldedText, at_words, fold, is_cut
from kg_api.text.documents import parse
from kg_api.text.sources import blocks_of

# The blocks of sources that were stored before block kinds were (ADR 7).


def with_blocks(document: Sequence[SourceText], about: DocumentAbout) -> Sequence[SourceText]:
    """A document's sources with their blocks, found by its parser where they are not stored."""
    if all(each.blocks for each in document):
        return document
    parsed = parse("".join(each.full_text for each in document), about.document, about.format)
    spans = [SourceSpan(each.start, each.start + len(each.full_text), each.heading) for each in document]
    found = zip(document, blocks_of(parsed, spans), strict=True)
    return [replace(source, blocks=source.blocks or blocks) for source, blocks in found]


# The money that extraction may cost an ontology, and what it has cost.


class LlmBudget:
    """Pays for questions, as long as there is money. Thread-safe; for one ontology.

    What has been paid is written in the transaction that keeps the answer, so it is neither lost nor paid
    twice when a worker is killed.
    """

    def __init__(
        self,
        graph: Graph,
        ontology: str,
        settings: LlmSettings,
        budget: float | None,
        job_id: str | None = None,
    ) -> None:
        """Nothing is asked yet; the job says what it spends, where one is named."""
        if budget is not None and price_of(settings, 0, 0) is None:
            raise ConfigurationError(
                f"extraction from {ontology!r} has a budget, and the language model's price is not known; "
                f"set KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT, {RESTART}"
            )
        self._graph = graph
        self._ontology = ontology
        self._settings = settings
        self._budget = budget
        self._job_id = job_id
        self._settled = threading.Condition()
        self._reserved: list[float] = []

    def reserve(self, question: Prompt, answer_tokens: int) -> float:
        """Set aside what a question may cost, in US dollars; to be given back by `release`.

        Waits for questions under way whose cost is not known yet, if there is not enough beside them.
        """
        if self._budget is None:
            return 0.0
        read = tokens_of(question.instruction) + tokens_of(question.data)
        cost = price_of(self._settings, read, answer_tokens) or 0.0
        with self._settled:
            while (spent := read_spent(self._graph, self._ontology)) + sum(
                self._reserved
            ) + cost > self._budget:
                if not self._reserved:
                    raise BudgetSpent(
                        f"the budget for extracting concepts from {self._ontology!r} is used up: of "
                        f"${self._budget:g}, ${spent:.4g} are spent, and the next request may cost "
                        f"${cost:.2g}; raise it by `kg admin concepts config --ontology {self._ontology!r} "
                        "--budget DOLLARS`, and it goes on"
                    )
                self._settled.wait()
            self._reserved.append(cost)
        return cost

    def release(self, reserved: float) -> None:
        with self._settled:
            if reserved in self._reserved:
                self._reserved.remove(reserved)
            self._settled.notify_all()

    def keep(self, answers: Mapping[str, str], question: Prompt, reply: Reply) -> None:
        """Keep answers and what they cost, in one transaction."""
        receipt = uuid.uuid4().hex
        guessed = tokens_of(question.instruction) + tokens_of(question.data)
        read = guessed if reply.read is None else reply.read
        written = tokens_of(reply.text) if reply.written is None else reply.written
        cost = price_of(self._settings, read, written) or 0.0

        def write(tx: Transaction) -> None:
            add_spent(tx, self._ontology, cost, receipt, self._job_id)
            write_contexts(tx, answers)

        self._graph.transaction(write)


# Quotes: looked for in the text they are said to be of, for a model's word is no proof.

MAX_QUOTE_LENGTH = 1000
"""Code points of a quote: a longer one is said to be of the source, but proves no more than its beginning."""
MIN_SCORE = 0.85
"""Likeness from which a passage counts as what was quoted."""
MIN_SIMILAR_LENGTH = 16
"""Characters; something shorter must be there as it is: any word is like some other word."""
MIN_LETTERS, MIN_UNSPACED = 8, 4
"""Letters and digits of a quote that proves something; in a script that writes words together."""
CASE_ONLY = 0.99
"""The score of what differs in case alone, and the most of what is found by likeness."""
_MAX_TEXT_LENGTH = 50_000
"""Code points of a text in which likeness is looked for."""
_ELISION = re.compile(r"\s*(?:\[?(?:\.\.\.|…)\]?)\s*")
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_ENDS = ".,;:!?)]}"
"""With these no quote begins."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|\w+n't|nicht|kein\w*|nie|niemals|ohne|ne|pas|jamais|"
    r"sans|nunca|sin|não|sem|non|mai|senza)\b|не|不|没|没有"
)


def find_quote(text: str, quote: str) -> Quote | None:
    """Find what was quoted: as it is, else but for white space, quotation marks and case, else by likeness.

    What is found begins and ends with words. By likeness alone no number and no denial may differ: such a
    sentence says something else.

    Returns:
        The span of `text`, verbatim; None when it is not there.
    """
    quoted, sought = QuotedText(quote), QuoteSearch(text)
    return sought.as_it_is(quoted) or sought.but_for_form(quoted) or sought.alike(quoted)


def says_enough(quote: str, passage: str) -> bool:
    """Whether a quote proves anything: a word or two are in any text. All of a passage always does."""
    letters = sum(character.isalnum() for character in quote)
    least = MIN_UNSPACED if WITHOUT_BLANKS.search(quote) else MIN_LETTERS
    return letters >= least or quote.strip() == passage.strip()


class QuotedText:
    """A quote that is looked for in several texts."""

    def __init__(self, said: str) -> None:
        """`said`: what is said to be in a text."""
        self.said = said
        wanted = said.strip()[:MAX_QUOTE_LENGTH].strip()
        self.wanted = wanted if any(character.isalnum() for character in wanted) else ""

    @cached_property
    def folded(self) -> str:
        return fold(self.wanted).text.strip()

    @property
    def may_be_alike(self) -> bool:
        """Whether it is long enough to be found by likeness."""
        return len(self.folded) >= MIN_SIMILAR_LENGTH


class QuoteSearch:
    """A text in which several quotes are looked for, in three ways; see `find_quote`."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def folded(self) -> FoldedText:
        return fold(self.text)

    def as_it_is(self, quote: QuotedText) -> Quote | None:
        """To the letter. The cheapest way."""
        at = at_words(self.text, quote.wanted, 0) if quote.wanted else None
        return None if at is None else _quote(self.text, at, at + len(quote.wanted), 1.0, quote.said)

    def but_for_form(self, quote: QuotedText) -> Quote | None:
        """Find it but for white space, quotation marks, dashes and case."""
        sought = quote.folded
        at = at_words(self.folded.text, sought, 0) if sought else None
        if at is None:
            return None
        start, end = self.folded.span(at, at + len(sought))
        same_case = fold(self.text[start:end], case=True).text == fold(quote.said, case=True).text.strip()
        return _quote(self.text, start, end, 1.0 if same_case else CASE_ONLY, quote.said)

    def alike(self, quote: QuotedText) -> Quote | None:
        """Find it by likeness, which takes long."""
        folded = self.folded.text
        sought = _longest_piece(folded, quote.folded)
        if len(sought) < MIN_SIMILAR_LENGTH:
            return None
        found = fuzz.partial_ratio_alignment(
            sought, folded[:_MAX_TEXT_LENGTH], score_cutoff=100 * MIN_SCORE - 10
        )
        if found is None or found.dest_start == found.dest_end:
            return None
        start, end = found.dest_start, found.dest_end
        while is_cut(folded, start):
            start -= 1
        while is_cut(folded, end):
            end += 1
        while start < end and (folded[start].isspace() or folded[start] in _ENDS):
            start += 1
        while end > start and folded[end - 1].isspace():
            end -= 1
        passage = folded[start:end]
        score = round(min(fuzz.ratio(sought, passage) / 100, CASE_ONLY), 4)
        if score < MIN_SCORE or _says(sought) != _says(passage):
            return None
        return _quote(self.text, *self.folded.span(start, end), score, quote.said)


def _longest_piece(text: str, sought: str) -> str:
    """Of a quote with gaps, its longest piece, if all pieces are there in their order; else all of it."""
    pieces = [piece for piece in _ELISION.split(sought) if piece]
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return sought
    return max(pieces, key=len, default=sought)


def _quote(text: str, start: int, end: int, score: float, said: str) -> Quote:
    end = min(end, start + MAX_QUOTE_LENGTH)
    found, said = text[start:end], _UNSTORABLE.sub(" ", said).strip()[:MAX_QUOTE_LENGTH]
    return Quote(found, start, end, score, None if said == found else said)


def _says(passage: str) -> tuple[Counter[str], int]:
    """What likeness must not pass over: its numbers, and how often it denies."""
    return Counter(_NUMBER.findall(passage)), len(_DENIAL.findall(passage))


# What a language model's answer is worth: nothing of it is believed but what its passage bears out.

LABEL, DESCRIPTION, TERM, TYPE = 200, 1000, 200, 100
MAX_TERMS, MAX_QUOTES = 20, 5
RELATIONS_A_CONCEPT = 3
MAX_ENTRY_LENGTH = 50_000
"""Characters of what is said of one passage."""
READING = "2"
"""Of how answers are believed; another one makes all sources due again. What was answered before is kept."""
SHORT_LETTERS = 3
"""Of a name in capitals that is nothing but its letters: "IT" is not "it"."""

Entry = Mapping[str, object]


class Unusable(Exception):
    """What is said of a passage cannot be used; why is its message."""


def serialize(entry: Entry) -> str:
    """What is remembered of an entry, in JSON: the fields that are asked for."""
    text = json.dumps({name: entry.get(name) for name in ("concepts", "relations")})
    if len(text) > MAX_ENTRY_LENGTH:
        raise Unusable("more is said of it than of any passage can be")
    return text


def extraction_of(source: SourceText, entry: Entry, per_source: int) -> Extraction:
    """Believe of an entry what its passage bears out.

    A quote proves a concept when it is in the passage and says more than a word or two; one that only repeats
    a name of the concept proves nothing, unless the passage is no more than that. A concept counts when a
    quote proves it, or a name of it is in the passage: then nothing proves it, and what was quoted is kept as
    unverified. A relation counts when both its ends are proved. What is no concept, or no relation, is passed
    over.
    """
    said = entry.get("concepts")
    if not isinstance(said, list):
        raise Unusable("there is no list of concepts")
    found = [_concept(source.full_text, each) for each in cast("list[object]", said)]
    concepts = _merge([concept for concept, _ in found if concept is not None])
    if found and not concepts:
        raise Unusable("none of its quotes is in the text")
    # In their order, those first that a quote proves.
    best = sorted(concepts, key=lambda each: (not each.quotes, -each.confidence))[:per_source]
    chosen = [each for each in concepts if each in best]
    return Extraction(
        source.source_id,
        source.content_hash,
        tuple(chosen),
        tuple(_relations(entry.get("relations"), [each for each in chosen if each.quotes])),
        unverified=sum(lost for _, lost in found),
    )


def clean(value: object, longest: int) -> str:
    """One line without unseen characters; empty when it is no text."""
    return one_line(value)[:longest].strip() if isinstance(value, str) else ""


def _concept(text: str, said: object) -> tuple[ExtractedConcept | None, int]:
    """A concept if it counts, and how many quotes of it are not in the text, or prove nothing."""
    if not isinstance(said, dict):
        return None, 0
    entry = cast("Entry", said)
    label, confidence = clean(entry.get("label"), LABEL), _confidence(entry.get("confidence"))
    quoted = [each for each in as_list(entry.get("quotes")) if isinstance(each, str)][:MAX_QUOTES]
    cleaned = (clean(each, TERM) for each in as_list(entry.get("search_terms")))
    known = dict.fromkeys(term for term in cleaned if term and concept_name(term) != concept_name(label))
    terms = tuple(known)[:MAX_TERMS]
    names = {concept_name(each) for each in (label, *terms)}
    proof, others, is_there = list[Quote](), list[str](), False
    for each in quoted:
        quote = find_quote(text, each)
        # A quote counts if it says enough or names the concept: any word is in some text.
        if quote and not says_enough(quote.text, text):
            quote = quote if any(_find_name(quote.text, name) for name in (label, *terms)) else None
        is_there = is_there or quote is not None
        # A name alone is in the text, but says nothing of what it names.
        if quote and (concept_name(quote.text) not in names or quote.text.strip() == text.strip()):
            proof.append(quote)
        elif other := clean(each, MAX_QUOTE_LENGTH):
            others.append(other)
    lost = len(quoted) - len(proof)
    is_there = is_there or _find_name(text, label) is not None
    if confidence is None or not concept_name(label) or not is_there:
        return None, lost
    description, unverified = clean(entry.get("description"), DESCRIPTION), tuple(dict.fromkeys(others))
    return ExtractedConcept(label, _distinct(proof), description, terms, confidence, unverified), lost


def _find_name(text: str, name: str) -> Quote | None:
    """Where a text has a name in whole words; a short one in capitals, as it is written."""
    found = find_quote(text, name)
    short = name.isupper() and sum(each.isalpha() for each in name) <= SHORT_LETTERS
    return None if found is not None and found.score < 1 and short else found


def _relations(said: object, concepts: Sequence[ExtractedConcept]) -> list[ExtractedRelation]:
    labels = {concept_name(each.label): each.label for each in concepts}
    found = dict[ExtractedRelation, None]()
    for each in as_list(said):
        if not isinstance(each, dict):
            continue
        entry = cast("Entry", each)
        subject, target = (
            labels.get(concept_name(clean(entry.get(name), LABEL))) for name in ("subject", "object")
        )
        kind, confidence = clean(entry.get("type"), TYPE), _confidence(entry.get("confidence"))
        if subject and target and subject != target and concept_name(kind) and confidence is not None:
            found[ExtractedRelation(subject, kind, target, confidence)] = None
    return list(found)[: RELATIONS_A_CONCEPT * len(concepts)]


def _confidence(said: object) -> float | None:
    """From 0 to 1; None when it is no number."""
    if isinstance(said, bool) or not isinstance(said, int | float) or math.isnan(said):
        return None
    return float(min(max(said, 0.0), 1.0))


def _merge(found: Sequence[ExtractedConcept]) -> list[ExtractedConcept]:
    by_name: dict[str, ExtractedConcept] = {}
    for each in found:
        one = by_name.setdefault(concept_name(each.label), each)
        if one is not each:
            by_name[concept_name(each.label)] = replace(
                one,
                quotes=_distinct((*one.quotes, *each.quotes)),
                unverified=tuple(dict.fromkeys((*one.unverified, *each.unverified))),
                description=one.description or each.description,
                search_terms=tuple(dict.fromkeys((*one.search_terms, *each.search_terms)))[:MAX_TERMS],
                confidence=max(one.confidence, each.confidence),
            )
    return list(by_name.values())


def _distinct(quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    places = {(quote.start, quote.end): quote for quote in reversed(quotes)}
    return tuple(places[place] for place in sorted(places))
