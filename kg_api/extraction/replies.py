"""Validation of a language model's replies by their quotes, and budgets."""

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
from kg_api.graph.vectors import SourceText
from kg_api.providers.chat import Prompt, Reply, as_list, compute_price, estimate_tokens
from kg_api.providers.openai_chat import RESTART
from kg_api.schemas.base import normalize_concept_name, normalize_spaces
from kg_api.schemas.concepts import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.sections import LlmSettings
from kg_api.suggestions import WITHOUT_BLANKS, FoldedText, find_whole_word, fold, is_cut

# Budget of an ontology for extraction


class LlmBudget:
    """Budget for requests of one ontology. Thread-safe.

    Costs are stored in the transaction that stores the replies, so a killed worker neither loses nor repeats
    them.
    """

    def __init__(
        self,
        graph: Graph,
        ontology: str,
        settings: LlmSettings,
        budget: float | None,
        job_id: str | None = None,
    ) -> None:
        """Check that prices are known. Costs are also recorded for the job, if given."""
        if budget is not None and compute_price(settings, 0, 0) is None:
            raise ConfigurationError(
                f"extraction from {ontology!r} has a budget, but the price of the language model is "
                f"unknown. Set KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT, {RESTART}"
            )
        self._graph = graph
        self._ontology = ontology
        self._settings = settings
        self._budget = budget
        self._job_id = job_id
        self._settled = threading.Condition()
        self._reserved: list[float] = []

    def reserve(self, question: Prompt, answer_tokens: int) -> float:
        """Reserve a request's maximum cost (US dollars) until `release`. Wait if the budget is too small."""
        if self._budget is None:
            return 0.0
        read = estimate_tokens(question.instruction) + estimate_tokens(question.data)
        cost = compute_price(self._settings, read, answer_tokens) or 0.0
        with self._settled:
            while (spent := read_spent(self._graph, self._ontology)) + sum(
                self._reserved
            ) + cost > self._budget:
                if not self._reserved:
                    raise BudgetSpent(
                        f"the budget for extracting concepts from {self._ontology!r} is used up: "
                        f"${spent:.4g} of ${self._budget:g} are spent, and the next request may cost "
                        f"${cost:.2g}. To resume, raise the budget with `kg admin concepts config "
                        f"--ontology {self._ontology!r} --budget DOLLARS`"
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
        """Store replies and their cost in one transaction."""
        receipt = uuid.uuid4().hex
        guessed = estimate_tokens(question.instruction) + estimate_tokens(question.data)
        read = guessed if reply.read is None else reply.read
        written = estimate_tokens(reply.text) if reply.written is None else reply.written
        cost = compute_price(self._settings, read, written) or 0.0

        def write(tx: Transaction) -> None:
            add_spent(tx, self._ontology, cost, receipt, self._job_id)
            write_contexts(tx, answers)

        self._graph.transaction(write)


# Quotes: kg searches them in the source, because a model may invent them

MAX_QUOTE_LENGTH = 1000
"""Maximum of code points in a quote. Longer quotes prove no more than their beginning."""
MIN_SCORE = 0.85  # minimum similarity of a passage to the quote
MIN_SIMILAR_LENGTH = 16
"""Characters: shorter quotes must match exactly, because any word is similar to another."""
MIN_LETTERS, MIN_UNSPACED = 8, 4
"""Minimum of letters and digits in a quote, in scripts with and without spaces."""
CASE_ONLY = 0.99  # score of a difference in case, and maximum score of a similar passage
_MAX_TEXT_LENGTH = 50_000  # code points of a text that are searched by similarity
_ELISION = re.compile(r"\s*(?:\[?(?:\.\.\.|…)\]?)\s*")
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_ENDS = ".,;:!?)]}"  # characters that start no quote
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DENYING_WORDS = """
    not no never none neither nor without cannot nicht nie niemals ohne ne pas jamais sans nunca sin
    não sem non mai senza niet geen nooit zonder inte ej aldrig utan ikke uden ei nem soha bez nigdy
    nikdy není nu nici niciodată fără değil yok hiç asla không chưa chẳng tidak bukan tanpa нет
    никогда без ні немає δεν δε μη μην όχι ούτε ποτέ χωρίς ոչ չի არ ვერ არა لا لم لن ليس ليست بدون
    غير نه نیست هرگز نہیں بغیر לא אין ללא בלי नहीं मत बिना না নেই নয় இல்லை
    """.split()  # noqa: SIM905 - a list of words reads better so
_DENYING_PARTS = "не 不 没 ない ません なかった 않 없 못 아니 ไม่ ບໍ່ មិន".split()  # noqa: SIM905 - as above
_DENIAL = re.compile(
    rf"(?<!\w)(?:\w+n't|kein\w*|{'|'.join(fold(each).text for each in _DENYING_WORDS)})(?!\w)"
    f"|{'|'.join(fold(each).text for each in _DENYING_PARTS)}"
)


def find_quote(text: str, quote: str) -> Quote | None:
    """Find a quote exactly, or except for whitespace, quotation marks and case, or by similarity.

    The result is a span of `text` that begins and ends with words. A similar passage must have the same
    numbers and negations, because otherwise its meaning differs.
    """
    quoted, search = QuotedText(quote), QuoteSearch(text)
    return search.find_exact(quoted) or search.find_ignoring_form(quoted) or search.find_similar(quoted)


def is_long_enough(quote: str, passage: str) -> bool:
    """Check if a quote is long enough as evidence, or is the whole passage."""
    letters = sum(character.isalnum() for character in quote)
    least = MIN_UNSPACED if WITHOUT_BLANKS.search(quote) else MIN_LETTERS
    return letters >= least or quote.strip() == passage.strip()


class QuotedText:
    def __init__(self, said: str) -> None:
        self.said = said
        wanted = said.strip()[:MAX_QUOTE_LENGTH].strip()
        self.wanted = wanted if any(character.isalnum() for character in wanted) else ""

    @cached_property
    def folded(self) -> str:
        return fold(self.wanted).text.strip()


class QuoteSearch:
    """Text in which `find_quote` searches several quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def folded(self) -> FoldedText:
        return fold(self.text)

    def find_exact(self, quote: QuotedText) -> Quote | None:
        """Find the exact quote, which is the fastest search."""
        at = find_whole_word(self.text, quote.wanted, 0) if quote.wanted else None
        return None if at is None else _quote(self.text, at, at + len(quote.wanted), 1.0, quote.said)

    def find_ignoring_form(self, quote: QuotedText) -> Quote | None:
        """Find the quote except for whitespace, quotation marks, dashes and case."""
        folded_quote = quote.folded
        at = find_whole_word(self.folded.text, folded_quote, 0) if folded_quote else None
        if at is None:
            return None
        start, end = self.folded.to_origin(at, at + len(folded_quote))
        same_case = fold(self.text[start:end], case=True).text == fold(quote.said, case=True).text.strip()
        return _quote(self.text, start, end, 1.0 if same_case else CASE_ONLY, quote.said)

    def find_similar(self, quote: QuotedText) -> Quote | None:
        """Find a similar passage, which is slow."""
        folded = self.folded.text
        piece = _find_longest_piece(folded, quote.folded)
        if len(piece) < MIN_SIMILAR_LENGTH:
            return None
        found = fuzz.partial_ratio_alignment(
            piece, folded[:_MAX_TEXT_LENGTH], score_cutoff=100 * MIN_SCORE - 10
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
        score = round(min(fuzz.ratio(piece, passage) / 100, CASE_ONLY), 4)
        if score < MIN_SCORE or _count_numbers_and_negations(piece) != _count_numbers_and_negations(passage):
            return None
        return _quote(self.text, *self.folded.to_origin(start, end), score, quote.said)


def _find_longest_piece(text: str, quote: str) -> str:
    """Return the longest piece of a quote with gaps if all pieces occur in order, or the whole quote."""
    pieces = [piece for piece in _ELISION.split(quote) if piece]
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return quote
    return max(pieces, key=len, default=quote)


def _quote(text: str, start: int, end: int, score: float, said: str) -> Quote:
    end = min(end, start + MAX_QUOTE_LENGTH)
    found, said = text[start:end], _UNSTORABLE.sub(" ", said).strip()[:MAX_QUOTE_LENGTH]
    return Quote(found, start, end, score, None if said == found else said)


def _count_numbers_and_negations(passage: str) -> tuple[Counter[str], int]:
    """Return numbers and the count of negations, which must be equal."""
    return Counter(_NUMBER.findall(passage)), len(_DENIAL.findall(passage))


# Validation of a reply: only concepts that the passage confirms

LABEL, DESCRIPTION, TERM, TYPE = 200, 1000, 200, 100
MAX_TERMS, MAX_QUOTES = 20, 5
RELATIONS_A_CONCEPT = 3
MAX_ENTRY_LENGTH = 50_000  # maximum characters of the reply for one passage
READING = "2"
"""Version of the validation: a change makes all sources pending. Cached replies are validated again."""
SHORT_LETTERS = 3  # maximum letters of an acronym: "IT" is not "it"

Entry = Mapping[str, object]


class Unusable(Exception):
    """Error for an unusable reply. The message is the reason."""


def serialize(entry: Entry) -> str:
    """Return the cached fields of a reply as JSON."""
    text = json.dumps({name: entry.get(name) for name in ("concepts", "relations")})
    if len(text) > MAX_ENTRY_LENGTH:
        raise Unusable("the response contains more concepts than a passage can have")
    return text


def verify_extraction(source: SourceText, entry: Entry, per_source: int) -> Extraction:
    """Return the concepts and relationships that the passage confirms.

    A quote is evidence if it is in the passage and has more than a word or two. A quote that only repeats a
    name of the concept does not count, unless it is the whole passage. A concept needs evidence or a name in
    the passage. Without evidence, its quotes are stored as unverified. A relationship needs evidence for both
    ends. Invalid entries are skipped.
    """
    concepts_given = entry.get("concepts")
    if not isinstance(concepts_given, list):
        raise Unusable("the list of concepts is missing")
    found = [_parse_concept(source.full_text, each) for each in cast("list[object]", concepts_given)]
    concepts = _merge([concept for concept, _ in found if concept is not None])
    if found and not concepts:
        raise Unusable("none of the quotes occurs in the text")
    # Keep their order, but prefer concepts with evidence.
    best = sorted(concepts, key=lambda each: (not each.quotes, -each.confidence))[:per_source]
    chosen = [each for each in concepts if each in best]
    return Extraction(
        source.source_id,
        source.content_hash,
        tuple(chosen),
        tuple(_parse_relations(entry.get("relations"), [each for each in chosen if each.quotes])),
        unverified=sum(lost for _, lost in found),
    )


def clean_value(value: object, longest: int) -> str:
    """Return one line without invisible characters, or '' for other types."""
    return normalize_spaces(value)[:longest].strip() if isinstance(value, str) else ""


def _parse_concept(text: str, said: object) -> tuple[ExtractedConcept | None, int]:
    """Return the concept if it is valid, and the number of quotes without value as evidence."""
    if not isinstance(said, dict):
        return None, 0
    entry = cast("Entry", said)
    label, confidence = clean_value(entry.get("label"), LABEL), _parse_confidence(entry.get("confidence"))
    quoted = [each for each in as_list(entry.get("quotes")) if isinstance(each, str)][:MAX_QUOTES]
    cleaned = (clean_value(each, TERM) for each in as_list(entry.get("search_terms")))
    known = dict.fromkeys(
        term for term in cleaned if term and normalize_concept_name(term) != normalize_concept_name(label)
    )
    terms = tuple(known)[:MAX_TERMS]
    names = {normalize_concept_name(each) for each in (label, *terms)}
    proof, others, is_there = list[Quote](), list[str](), False
    for each in quoted:
        quote = find_quote(text, each)
        # A short quote counts only if it names the concept.
        if quote and not is_long_enough(quote.text, text):
            quote = quote if any(_find_name(quote.text, name) for name in (label, *terms)) else None
        is_there = is_there or quote is not None
        # A name alone says nothing about the concept.
        if quote and (normalize_concept_name(quote.text) not in names or quote.text.strip() == text.strip()):
            proof.append(quote)
        elif other := clean_value(each, MAX_QUOTE_LENGTH):
            others.append(other)
    lost = len(quoted) - len(proof)
    is_there = is_there or _find_name(text, label) is not None
    if confidence is None or not normalize_concept_name(label) or not is_there:
        return None, lost
    description, unverified = clean_value(entry.get("description"), DESCRIPTION), tuple(dict.fromkeys(others))
    return ExtractedConcept(
        label, _remove_duplicates(proof), description, terms, confidence, unverified
    ), lost


def _find_name(text: str, name: str) -> Quote | None:
    """Find a name in whole words. A short acronym must match in case."""
    found = find_quote(text, name)
    short = name.isupper() and sum(each.isalpha() for each in name) <= SHORT_LETTERS
    return None if found is not None and found.score < 1 and short else found


def _parse_relations(entries: object, concepts: Sequence[ExtractedConcept]) -> list[ExtractedRelation]:
    labels = {normalize_concept_name(each.label): each.label for each in concepts}
    found = dict[ExtractedRelation, None]()
    for each in as_list(entries):
        if not isinstance(each, dict):
            continue
        entry = cast("Entry", each)
        subject, target = (
            labels.get(normalize_concept_name(clean_value(entry.get(name), LABEL)))
            for name in ("subject", "object")
        )
        kind, confidence = clean_value(entry.get("type"), TYPE), _parse_confidence(entry.get("confidence"))
        if (
            subject
            and target
            and subject != target
            and normalize_concept_name(kind)
            and confidence is not None
        ):
            found[ExtractedRelation(subject, kind, target, confidence)] = None
    return list(found)[: RELATIONS_A_CONCEPT * len(concepts)]


def _parse_confidence(value: object) -> float | None:
    """Return a number from 0 to 1, or None for other types."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(min(max(value, 0.0), 1.0))


def _merge(found: Sequence[ExtractedConcept]) -> list[ExtractedConcept]:
    by_name: dict[str, ExtractedConcept] = {}
    for each in found:
        one = by_name.setdefault(normalize_concept_name(each.label), each)
        if one is not each:
            by_name[normalize_concept_name(each.label)] = replace(
                one,
                quotes=_remove_duplicates((*one.quotes, *each.quotes)),
                unverified=tuple(dict.fromkeys((*one.unverified, *each.unverified))),
                description=one.description or each.description,
                search_terms=tuple(dict.fromkeys((*one.search_terms, *each.search_terms)))[:MAX_TERMS],
                confidence=max(one.confidence, each.confidence),
            )
    return list(by_name.values())


def _remove_duplicates(quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    places = {(quote.start, quote.end): quote for quote in reversed(quotes)}
    return tuple(places[place] for place in sorted(places))
