"""Questions from the quotes of concepts: two concepts that one document has together. Pure.

A question names both, and their quotes answer it: no sentence of the document is repeated, so full text does
not find it word for word. Where a concept has another name, one that the passage does not use is asked for.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from kg_api.errors import Conflict, InvalidInput
from kg_api.schemas.base import concept_name, judged_question_id, storable
from kg_api.schemas.documents import Format
from kg_api.schemas.evaluation import (
    TIERS,
    JudgedPassage,
    JudgedPlace,
    QuestionSet,
    Reference,
    SetDocument,
    SetQuery,
)
from kg_api.schemas.vocabulary import MAX_QUERY_CHARACTERS, Tier
from kg_api.wording import pluralize

MAX_SOURCES = 20
"""A concept of more sources is no question: too much answers it."""


@dataclass(frozen=True, slots=True)
class InstanceQuote:
    """A quote that proves a concept, and where it stands."""

    source_id: str
    place: Reference
    passage: str
    """The text of the source."""


@dataclass(frozen=True, slots=True)
class QuotedConcept:
    label: str
    others: tuple[str, ...]
    """Other names for it."""
    quotes: tuple[InstanceQuote, ...]


def pair_query(one: QuotedConcept, other: QuotedConcept, shared: Iterable[str]) -> SetQuery | None:
    """A question for two concepts, without an id; None where they make none.

    Args:
        one: a concept.
        other: another.
        shared: ids of the sources that carry both.
    """
    if _words(one.label) & _words(other.label):
        return None  # one may be a form of the other
    sources = {*shared}
    quotes = [[each for each in some.quotes if each.source_id in sources] for some in (one, other)]
    found = [each for some in quotes for each in some]
    documents = {each.place.document for each in found}
    if not all(quotes) or len(documents) != 1:
        return None
    passage = " ".join(each.passage for each in found)
    names = [_name_instances(each, passage) for each in (one, other)]
    return SetQuery("", ", ".join(names), {documents.pop(): 1}, _apart([each.place for each in found]))


def numbered(queries: Sequence[SetQuery]) -> list[SetQuery]:
    return [
        SetQuery(f"q{number}", each.text, each.relevant, each.references)
        for number, each in enumerate(queries, 1)
    ]


def _name_instances(concept: QuotedConcept, passage: str) -> str:
    """A name that the passage does not use, if there is one; else the label."""
    used = concept_name(passage)
    return next((each for each in concept.others if concept_name(each) not in used), concept.label)


def _words(label: str) -> set[str]:
    return set(concept_name(label).split())


def _apart(places: Sequence[Reference]) -> tuple[Reference, ...]:
    """Places that do not overlap: those that do are one."""
    found: list[Reference] = []
    for each in sorted(set(places), key=lambda place: (place.start, place.end)):
        last = found[-1] if found else None
        if last is not None and each.start < last.end:
            found[-1] = Reference(last.document, last.start, max(last.end, each.end))
        else:
            found.append(each)
    return tuple(found)


# Questions that people judged passages for, as questions of a set.

_DIGITS = 12
"""Of an id: so few are enough to tell the questions of an ontology apart."""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """What judgements say, as far as it can be measured."""

    queries: list[SetQuery]
    notes: list[str]
    """What was left out, and why."""


def judged_queries(judgements: Iterable[JudgedPlace]) -> JudgedSet:
    """Make questions of judgements.

    Its passages are told with what was judged of them; a document is as relevant as its best passage. Exact
    places that answer are told where all of a question are in one document, as sets have them. A question
    that nothing was found to answer is left out.

    Args:
        judgements: in any order, each passage once for a question.
    """
    of: dict[tuple[str, str], list[JudgedPlace]] = {}
    gone = 0
    for each in judgements:
        gone += each.start is None
        of.setdefault((each.ontology, each.question), []).append(each)
    made = {key: _query_judged(*key, judged) for key, judged in sorted(of.items())}
    queries = [query for query in made.values() if query.relevant]
    changed = sum(any(each.relevance for each in of[key]) for key in made if not made[key].relevant)
    return JudgedSet(queries, _notes(gone, changed, len(made) - len(queries) - changed))


def _query_judged(ontology: str, question: str, judged: Sequence[JudgedPlace]) -> SetQuery:
    right = [each for each in judged if each.relevance and each.start is not None]
    relevant: dict[str, int] = {}
    for each in right:
        relevant[each.document] = max(each.relevance, relevant.get(each.document, 0))
    passages = sorted(
        filter(None, map(_passage_judged, judged)), key=lambda each: (each.document, each.start)
    )
    places = tuple(Reference(each.document, each.start, each.end) for each in passages if each.relevance)
    identity = judged_question_id(ontology, question)[:_DIGITS]
    return SetQuery(identity, question, relevant, places if len(relevant) == 1 else (), tuple(passages))


def _passage_judged(judged: JudgedPlace) -> JudgedPassage | None:
    """None: its text has changed since."""
    if judged.start is None or judged.end is None:
        return None
    return JudgedPassage(judged.document, judged.start, judged.end, judged.relevance)


def _notes(gone: int, changed: int, unanswered: int) -> list[str]:
    notes = list[str]()
    if gone:
        notes.append(f"{pluralize(gone, 'judgement')} left out: the passages have changed since")
    if changed:
        notes.append(f"{pluralize(changed, 'question')} left out: all that answered has changed since")
    if unanswered:
        notes.append(f"{pluralize(unanswered, 'question')} left out: nothing was judged to answer")
    return notes


# Questions without a language model: sentences of the documents that say what no other does.

SHORTEST, LONGEST = 40, 300
"""Characters of a sentence that is taken."""
_LETTERS = 0.7
"""Share of letters and blanks, so that no code and no table is taken."""
_RAREST = 5
"""So many of a sentence's rarest words tell how distinctive it is."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Candidate:
    reference: Reference
    text: str
    words: frozenset[str]


def sample_quotes(
    documents: Sequence[SetDocument], sentences: Iterable[Iterable[tuple[int, int]]], count: int, seed: int
) -> list[SetQuery]:
    """Choose sentences as questions, each answered by its own place.

    They are spread over the documents, are there once in all of them, and belong to the half of their
    document with the rarest words.

    Args:
        documents: where to choose.
        sentences: for each document the places of its sentences, in code points.
        count: how many, at most.
        seed: the same one chooses the same.
    """
    found = [_candidates(*pair) for pair in zip(documents, sentences, strict=True)]
    times = Counter(candidate.text for each in found for candidate in each)
    spread = Counter(word for each in found for candidate in each for word in candidate.words)
    single = [[candidate for candidate in each if times[candidate.text] == 1] for each in found]
    best = [_distinctive(each, spread, sum(map(len, found))) for each in single]
    return [_query_quotes(number, each) for number, each in enumerate(_spread(best, count, seed), 1)]


def _candidates(document: SetDocument, sentences: Iterable[tuple[int, int]]) -> list[_Candidate]:
    return list(filter(None, (_candidate(document, start, end) for start, end in sentences)))


def _candidate(document: SetDocument, start: int, end: int) -> _Candidate | None:
    raw = document.text[start:end]
    start, end = start + len(raw) - len(raw.lstrip()), end - (len(raw) - len(raw.rstrip()))
    text = " ".join(raw.split())
    plain = sum(character.isalpha() or character.isspace() for character in text)
    if not SHORTEST <= len(text) <= LONGEST or plain < _LETTERS * len(text):
        return None
    words = frozenset(_WORD.findall(text.casefold()))
    return _Candidate(Reference(document.document, start, end), text, words)


def _distinctive(candidates: Sequence[_Candidate], spread: Counter[str], total: int) -> list[_Candidate]:
    """The half whose rarest words are the rarest; at least one."""

    def rarity(candidate: _Candidate) -> float:
        rarest = sorted((math.log(total / spread[word]) for word in candidate.words), reverse=True)[:_RAREST]
        return sum(rarest) / max(1, len(rarest))

    return sorted(candidates, key=rarity, reverse=True)[: (len(candidates) + 1) // 2]


def _spread(found: Sequence[list[_Candidate]], count: int, seed: int) -> list[_Candidate]:
    """One of each document in turn, at random, until there are enough."""
    dice = random.Random(seed)  # noqa: S311 - a sample, no secret
    piles = [dice.sample(each, len(each)) for each in found if each]
    dice.shuffle(piles)
    rounds = max(map(len, piles), default=0)
    return [pile[turn] for turn in range(rounds) for pile in piles if turn < len(pile)][:count]


def _query_quotes(number: int, candidate: _Candidate) -> SetQuery:
    reference = candidate.reference
    return SetQuery(f"q{number}", candidate.text, {reference.document: 1}, (reference,))


# Lines of JSON and of tab-separated values, with their place for those who have to mend them.


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a file."""

    path: Path
    line: int
    fields: dict[str, Any]

    def wrong(self, what: str) -> InvalidInput:
        """An error that says where."""
        return wrong(self.path, self.line, what)

    def text(self, name: str, *, default: str | None = None) -> str:
        """A field that is text; numbers are taken for `_id` alone.

        Raises:
            InvalidInput: it is missing, or no text that can be stored.
        """
        value = self.fields.get(name, default)
        if name == "_id" and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise self.wrong(f"{name!r} is {'missing' if value is None else 'no text'}")
        try:
            return storable(value)
        except ValueError as error:
            raise self.wrong(f"{name!r} {error}") from None


def wrong(path: Path, line: int, what: str) -> InvalidInput:
    """An error that says where."""
    return InvalidInput(f"{path}, line {line}: {what}")


def json_lines(path: Path) -> Iterator[Record]:
    """Give the objects of a JSONL file; blank lines are passed over.

    Raises:
        InvalidInput: the file cannot be read, or a line is no JSON object.
    """
    for number, line in lines(path):
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise wrong(path, number, f"this is not valid JSON: {error}") from None
        if not isinstance(value, dict):
            raise wrong(path, number, "this is not a JSON object")
        yield Record(path, number, cast("dict[str, Any]", value))


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give the lines of a file that are not blank, with their numbers, from 1."""
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if line.strip():
            yield number, line


def text_of(path: Path) -> str:
    """Read a file's text as it is; a byte-order mark is left out.

    Raises:
        InvalidInput: it is not there, cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: byte {error.start} is not valid UTF-8") from None


# Judgements: which document answers which question, and how well.

PLACES = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv")
"""Where sets have them; the first that is there is read."""
_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Qrels:
    """Relevance by question and document; only what is relevant."""

    scores: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    notes: tuple[str, ...] = ()


def read_qrels(folder: Path, queries: set[str], documents: set[str]) -> Qrels:
    """Read the judgements of a set, if it has any.

    Args:
        folder: the set.
        queries: the questions there are.
        documents: the documents there are.

    Raises:
        InvalidInput: a line names what is not there, contradicts another, or has no score.
    """
    path = next((folder / place for place in PLACES if (folder / place).is_file()), None)
    if path is None:
        return Qrels()
    judged: dict[tuple[str, str], int] = {}
    repeated = 0
    for number, line in lines(path):
        parts = [part.strip() for part in line.split("\t")]
        if number == 1 and _is_header(parts):
            continue
        query, document, score = _judgement(path, number, parts)
        _require_known(path, number, (query, queries, "question"), (document, documents, "document"))
        if judged.setdefault((query, document), score) != score:
            raise wrong(path, number, f"{query!r} and {document!r} were judged otherwise before")
        repeated += 1
    return _qrels(path, judged, repeated - len(judged))


def _qrels(path: Path, judged: dict[tuple[str, str], int], repeated: int) -> Qrels:
    if not judged:
        raise InvalidInput(f"{path}: it holds no judgement")
    notes = (f"{path.name} says {repeated} judgements more than once",) if repeated else ()
    scores: dict[str, dict[str, int]] = {}
    for (query, document), score in judged.items():
        if score > 0:
            scores.setdefault(query, {})[document] = score
    return Qrels(scores, notes)


def _is_header(parts: list[str]) -> bool:
    return len(parts) == _COLUMNS and _number(parts[2]) is None


def _judgement(path: Path, number: int, parts: list[str]) -> tuple[str, str, int]:
    if len(parts) != _COLUMNS:
        raise wrong(path, number, "three columns with tabs between are expected: query-id, corpus-id, score")
    score = _number(parts[2])
    if score is None:
        raise wrong(path, number, f"the score {parts[2]!r} is no whole number")
    return parts[0], parts[1], score


def _require_known(path: Path, number: int, *named: tuple[str, set[str], str]) -> None:
    for name, known, kind in named:
        if name not in known:
            raise wrong(path, number, f"there is no {kind} {name!r} in this set")


def _number(text: str) -> int | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value.is_integer() else None


# Question sets in a folder: corpus.jsonl or corpora/, queries.jsonl with or without spans, qrels.tsv.

_FORMATS: dict[str, Format] = {".md": "markdown", ".txt": "text", ".rst": "rst"}
_MAX_NAME_LENGTH = 1000
_SHORT = 3
"""A folder's name of so few letters, such as `en`, says little without the one above it."""


def read_set(folder: Path) -> QuestionSet:
    """Read and check a question set.

    Raises:
        InvalidInput: naming file and line of what is wrong.
    """
    documents, empty = _documents(folder)
    notes = [f"{len(empty)} documents are empty and cannot be found: {_some(empty)}"] if empty else []
    by_name = {document.document: document for document in documents}
    path = folder / "queries.jsonl"
    queries = _unique(_query(record, by_name) for record in json_lines(path))
    if not queries:
        raise InvalidInput(f"{path}: it holds no question")
    judged = _read_judged(folder, queries, {*by_name, *empty}, notes)
    corpus_hash = _digest([[d.document, d.title, d.text, d.format] for d in documents])
    return QuestionSet(
        name=_name(folder),
        documents=documents,
        queries=judged,
        notes=tuple(notes),
        corpus_hash=corpus_hash,
        data_hash=_digest([corpus_hash, *map(_to_json, judged)]),
    )


def _documents(folder: Path) -> tuple[tuple[SetDocument, ...], list[str]]:
    """The documents in their order, and the names of those without any text."""
    if (folder / "corpus.jsonl").is_file():
        path, found = folder / "corpus.jsonl", _corpus(folder / "corpus.jsonl")
    elif (folder / "corpora").is_dir():
        path, found = folder / "corpora", _corpora(folder / "corpora")
    else:
        raise InvalidInput(f"{folder} is not a question set: it has neither corpus.jsonl nor corpora/")
    kept = [each for each in found if each.text.strip() or each.title]
    if not kept:
        raise InvalidInput(f"{path}: it holds no document")
    named = {each.document for each in kept}
    return tuple(kept), [each.document for each in found if each.document not in named]


def _corpus(path: Path) -> list[SetDocument]:
    found: dict[str, SetDocument] = {}
    for record in json_lines(path):
        name = record.text("_id")
        if not 0 < len(name) <= _MAX_NAME_LENGTH:
            raise record.wrong(f"'_id' must have 1 to {_MAX_NAME_LENGTH} characters")
        if name in found:
            raise record.wrong(f"the document {name!r} is listed twice")
        title = " ".join(record.text("title", default="").split())
        found[name] = SetDocument(name, record.text("text"), title, _format(record))
    return list(found.values())


def _format(record: Record) -> Format | None:
    value = record.fields.get("format")
    if value is not None and value not in _FORMATS.values():
        raise record.wrong(f"'format' is none of {', '.join(_FORMATS.values())}")
    return value


def _corpora(folder: Path) -> list[SetDocument]:
    found: dict[str, SetDocument] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.suffix not in _FORMATS:
            raise InvalidInput(f"{path}: only {', '.join(_FORMATS)} are read in a set")
        if path.stem in found:
            raise InvalidInput(f"{path}: another file is called {path.stem!r}, too")
        try:
            text = storable(text_of(path))
        except ValueError as error:
            raise InvalidInput(f"{path}: it {error}") from None
        found[path.stem] = SetDocument(path.stem, text, format=_FORMATS[path.suffix])
    return list(found.values())


def _query(record: Record, documents: Mapping[str, SetDocument]) -> tuple[Record, SetQuery]:
    text = record.text("text")
    if not text.strip():
        raise record.wrong("the question is empty")
    if len(text) > MAX_QUERY_CHARACTERS:
        raise record.wrong(f"the question is longer than {MAX_QUERY_CHARACTERS:,} characters")
    references, passages = _references(record, documents), _passages(record, documents)
    return record, SetQuery(record.text("_id"), text, references=references, passages=passages)


def _references(record: Record, documents: Mapping[str, SetDocument]) -> tuple[Reference, ...]:
    """The spans of a question: `doc` and `spans`, or `corpus_id` and `references`."""
    fields = record.fields
    spans, where = ("spans", "doc") if "spans" in fields else ("references", "corpus_id")
    if spans not in fields:
        return ()
    name = record.text(where)
    if name not in documents:
        raise record.wrong(f"{where!r} names the document {name!r}, which is not in the corpus")
    given: Any = fields[spans]
    if not isinstance(given, list):
        raise record.wrong(f"{spans!r} is no list")
    return tuple(_reference(record, documents[name], each) for each in cast("list[Any]", given))


def _passages(record: Record, documents: Mapping[str, SetDocument]) -> tuple[JudgedPassage, ...]:
    """The judged passages of a question, each once: `doc`, `start`, `end`, `relevance`."""
    given: Any = record.fields.get("passages", [])
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in cast("list[Any]", given)):
        raise record.wrong("'passages' is no list of objects")
    found = [_passage(record, documents, each) for each in cast("list[dict[str, Any]]", given)]
    if len({(each.document, each.start, each.end) for each in found}) < len(found):
        raise record.wrong("a passage is judged twice")
    return tuple(found)


def _passage(record: Record, documents: Mapping[str, SetDocument], given: Mapping[str, Any]) -> JudgedPassage:
    name, relevance = given.get("doc"), given.get("relevance")
    if not isinstance(name, str) or name not in documents:
        raise record.wrong(f"a passage names the document {name!r}, which is not in the corpus")
    if type(relevance) is not int or relevance < 0:
        raise record.wrong(f"the relevance {relevance!r} of a passage is no whole number from 0")
    place = _reference(record, documents[name], given)
    return JudgedPassage(name, place.start, place.end, relevance)


def _reference(record: Record, document: SetDocument, span: Any) -> Reference:
    given = cast("dict[str, Any]", span) if isinstance(span, dict) else {}
    start, end = given.get("start"), given.get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(document.text):
        raise record.wrong(
            f"the span {span!r} is none of {document.document!r}, which has {len(document.text)} characters"
        )
    quoted = given.get("text", given.get("content"))
    if quoted is not None and document.text[start:end] != quoted:
        there = document.text[start:end]
        raise record.wrong(f"{document.document!r} has {there!r} from {start} to {end}, not {quoted!r}")
    return Reference(document.document, start, end)


def _unique(found: Iterable[tuple[Record, SetQuery]]) -> list[SetQuery]:
    queries: dict[str, SetQuery] = {}
    for record, query in found:
        if query.query_id in queries:
            raise record.wrong(f"the question {query.query_id!r} is listed twice")
        queries[query.query_id] = query
    return list(queries.values())


def _read_judged(
    folder: Path, queries: list[SetQuery], documents: set[str], notes: list[str]
) -> tuple[SetQuery, ...]:
    """The questions that something answers; how many others there are is noted."""
    qrels = read_qrels(folder, {query.query_id for query in queries}, documents)
    notes += qrels.notes
    joined = [replace(query, relevant=qrels.scores.get(query.query_id, {})) for query in queries]
    judged = tuple(query for query in joined if query.relevant or query.references or _is_judged(query))
    if not judged:
        raise InvalidInput(f"{folder}: nothing says which documents or spans answer the questions")
    if left := len(joined) - len(judged):
        notes.append(f"{left} of {len(joined)} questions are not asked: nothing is said to answer them")
    return judged


def _is_judged(query: SetQuery) -> bool:
    return any(each.relevance for each in query.passages)


def _name(folder: Path) -> str:
    parts = folder.resolve().parts
    return "-".join(parts[-2:] if len(parts[-1]) <= _SHORT else parts[-1:])


def _to_json(query: SetQuery) -> list[Any]:
    references = [[each.document, each.start, each.end] for each in query.references]
    passages = [[each.document, each.start, each.end, each.relevance] for each in query.passages]
    told = [query.query_id, query.text, sorted(query.relevant.items()), references]
    return [*told, passages] if passages else told


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:16]


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")  # noqa: PLR2004 - enough to look one up


# Tiers: a few questions for a first look, some hundreds for a decision, all for the record.

SEED = 20_260_101


def sample_queries(queries: Sequence[SetQuery], tier: Tier, seed: int = SEED) -> list[SetQuery]:
    """Choose the questions of a tier: the same for the same seed, those of a smaller tier among them."""
    count = TIERS[tier]
    if count is None or count >= len(queries):
        return list(queries)
    order = sorted(queries, key=lambda query: query.query_id)
    random.Random(seed).shuffle(order)  # noqa: S311 - a sample, no secret
    chosen = {query.query_id for query in order[:count]}
    return [query for query in queries if query.query_id in chosen]


def sample_hash(queries: Sequence[SetQuery]) -> str:
    """Name which questions were asked."""
    ids = "\n".join(sorted(query.query_id for query in queries))
    return hashlib.sha256(ids.encode()).hexdigest()[:16]


# A question set written to a folder, as `read_set` reads it.


def write_set(
    folder: Path, documents: Sequence[SetDocument], queries: Sequence[SetQuery], about: Mapping[str, Any]
) -> None:
    """Write corpus.jsonl, queries.jsonl with spans, qrels.tsv, and about.json, which says how it was made.

    Raises:
        Conflict: the folder has something in it.
        InvalidInput: it cannot be written.
    """
    texts = {each.document: each.text for each in documents}
    judged = [
        f"{query.query_id}\t{document}\t{score}\n"
        for query in queries
        for document, score in query.relevant.items()
    ]
    parts = {
        "corpus.jsonl": _lines(map(_document, documents)),
        "queries.jsonl": _lines(_query_writing(query, texts) for query in queries),
        "qrels.tsv": "".join(["query-id\tcorpus-id\tscore\n", *judged]),
        "about.json": json.dumps(about, indent=1, ensure_ascii=False) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty; name a new folder")
        for name, text in parts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written: {error.strerror}") from error


def _document(document: SetDocument) -> dict[str, Any]:
    told = {"_id": document.document, "title": document.title, "text": document.text}
    return told | ({"format": document.format} if document.format else {})


def _query_writing(query: SetQuery, texts: Mapping[str, str]) -> dict[str, Any]:
    spans = [
        {"start": each.start, "end": each.end, "text": texts[each.document][each.start : each.end]}
        for each in query.references
    ]
    passages = [
        {
            "doc": each.document,
            "start": each.start,
            "end": each.end,
            "relevance": each.relevance,
            "text": texts[each.document][each.start : each.end],
        }
        for each in query.passages
    ]
    told: dict[str, Any] = {"_id": query.query_id, "text": query.text}
    told |= {"doc": query.references[0].document, "spans": spans} if spans else {}
    return told | ({"passages": passages} if passages else {})


def _lines(values: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
