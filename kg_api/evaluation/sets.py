"""Question sets in a folder: documents, questions and judgements."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from kg_api.errors import Conflict, InvalidInput
from kg_api.schemas.base import (
    VISIBLE,
    Text,
    build_judged_question_id,
    normalize_concept_name,
    require_storable,
)
from kg_api.schemas.concepts import ConceptDetails
from kg_api.schemas.evaluation import (
    TIERS,
    JudgedPassage,
    Judgement,
    QuestionSet,
    Reference,
    SetDocument,
    SetQuery,
)
from kg_api.schemas.formats import TextFormat
from kg_api.schemas.problems import describe_problems
from kg_api.schemas.vocabulary import MAX_QUERY_CHARACTERS, Tier
from kg_api.wording import pluralize

LineT = TypeVar("LineT", bound=BaseModel)

# Questions from the evidence of concepts. A question names two concepts of one document, and their quotes are
# the answer. Full text does not find the quotes by the exact words of the question.

MAX_SOURCES = 20  # a concept with more sources has too many answers


def build_pair_query(one: ConceptDetails, other: ConceptDetails, shared: Iterable[str]) -> SetQuery | None:
    """Make a question without id from two concepts, or return None unless a single document quotes both."""
    if set(normalize_concept_name(one.label).split()) & set(normalize_concept_name(other.label).split()):
        return None  # one label may contain the other
    sources = {*shared}
    quotes = [[each for each in some.evidence if each.source.source_id in sources] for some in (one, other)]
    found = [each for some in quotes for each in some]
    documents = {each.source.document for each in found}
    if not all(quotes) or len(documents) != 1:
        return None
    document = documents.pop()
    used = normalize_concept_name(" ".join(each.source.full_text for each in found))
    names = [
        next((name for name in each.search_terms if normalize_concept_name(name) not in used), each.label)
        for each in (one, other)  # prefer a name that the passages do not use
    ]
    places: list[Reference] = []
    for start, end in sorted({(each.start, each.end) for each in found}):
        if places and start < places[-1].end:  # merge overlapping spans
            places[-1] = replace(places[-1], end=max(places[-1].end, end))
        else:
            places.append(Reference(document, start, end))
    return SetQuery("", ", ".join(names), {document: 1}, tuple(places))


def number_queries(queries: Sequence[SetQuery]) -> list[SetQuery]:
    return [replace(each, query_id=f"q{number}") for number, each in enumerate(queries, 1)]


# Questions with judged passages

_DIGITS = 12  # digits of an id that are unique in an ontology


def build_judged_queries(judgements: Iterable[Judgement]) -> tuple[list[SetQuery], list[str]]:
    """Make questions from judgements, and notes about skipped judgements.

    A document is as relevant as its best passage. If all relevant passages of a question are in one document,
    they are also its exact spans. Questions without a relevant passage are skipped.
    """
    of: dict[tuple[str, str], list[Judgement]] = {}
    for each in judgements:
        of.setdefault((each.ontology, each.question), []).append(each)
    queries = list[SetQuery]()
    gone = changed = unanswered = 0
    for (ontology, question), judged in sorted(of.items()):
        passages = [
            JudgedPassage(each.document, each.source.start, each.source.end, each.relevance)
            for each in judged
            if each.source is not None  # None: the text has changed
        ]
        passages.sort(key=lambda each: (each.document, each.start))
        gone += len(judged) - len(passages)
        right = [each for each in passages if each.relevance]
        if not right:
            lost = any(each.relevance for each in judged)
            changed, unanswered = changed + lost, unanswered + (not lost)
            continue
        relevant: dict[str, int] = {}
        for each in right:
            relevant[each.document] = max(each.relevance, relevant.get(each.document, 0))
        places = [Reference(each.document, each.start, each.end) for each in right if len(relevant) == 1]
        identity = build_judged_question_id(ontology, question)[:_DIGITS]
        queries.append(SetQuery(identity, question, relevant, tuple(places), tuple(passages)))
    left_out = (
        (gone, "judgement", "the passages have changed since"),
        (changed, "question", "all answers have changed since"),
        (unanswered, "question", "nothing was judged to answer"),
    )
    return queries, [f"{pluralize(count, noun)} skipped: {why}" for count, noun, why in left_out if count]


# Files of a question set: corpus.jsonl or corpora/, queries.jsonl with optional spans, qrels.tsv

QRELS_PLACES = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv")
"""Files with judgements: the first one that exists is read."""
_FORMATS: dict[str, TextFormat] = {".md": "markdown", ".txt": "text", ".rst": "rst"}
_JUDGEMENT = re.compile(r"([^\t]*?) *\t *([^\t]*?) *\t *([+-]?\d+)(?:\.0*)?")
_SHORT = 3  # up to this length, a folder's name such as `en` is shown with its parent
_Name = Annotated[
    Text,
    BeforeValidator(lambda given: str(given) if type(given) is int else given),
    Field(min_length=1, max_length=1000),
]


class _DocumentLine(BaseModel):
    name: Annotated[_Name, Field(alias="_id")]
    text: Text
    title: Text = ""
    format: TextFormat | None = None


class _Span(BaseModel):
    start: Annotated[int, Field(ge=0, strict=True)]
    end: Annotated[int, Field(strict=True)]
    text: Annotated[str | None, Field(validation_alias=AliasChoices("text", "content"))] = None


class _JudgedSpan(_Span):
    doc: Text
    relevance: Annotated[int, Field(ge=0, strict=True)]


class _QueryLine(BaseModel):
    name: Annotated[_Name, Field(alias="_id")]
    text: Annotated[Text, Field(max_length=MAX_QUERY_CHARACTERS), *VISIBLE]
    doc: Annotated[Text | None, Field(validation_alias=AliasChoices("doc", "corpus_id"))] = None
    spans: Annotated[list[_Span], Field(validation_alias=AliasChoices("spans", "references"))] = []
    passages: list[_JudgedSpan] = []


def _report_wrong_line(path: Path, line: int, problem: str) -> InvalidInput:
    return InvalidInput(f"{path}, line {line}: {problem}")


def read_text_file(path: Path) -> str:
    """Read a UTF-8 file without its byte-order mark."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: byte {error.start} is not valid UTF-8") from None


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    numbered_lines = enumerate(read_text_file(path).split("\n"), 1)
    return ((number, line) for number, line in numbered_lines if line.strip())


def _read_json_lines(path: Path, model: type[LineT]) -> Iterator[tuple[LineT, Callable[[str], InvalidInput]]]:
    """Yield each line, and a function that returns an error about the line."""
    for number, line in _read_lines(path):
        wrong = partial(_report_wrong_line, path, number)
        try:
            yield model.model_validate_json(line), wrong
        except ValidationError as error:
            raise wrong(describe_problems(error.errors(include_url=False))) from None


def read_set(folder: Path) -> QuestionSet:
    found = _read_corpus(folder)
    documents = {name: each for name, each in found.items() if each.text.strip() or each.title}
    if not documents:
        path = folder / ("corpus.jsonl" if (folder / "corpus.jsonl").is_file() else "corpora")
        raise InvalidInput(f"{path}: no documents")
    notes = list[str]()
    if empty := [name for name in found if name not in documents]:
        some = ", ".join(empty[:5]) + (", ..." if len(empty) > 5 else "")  # noqa: PLR2004 - enough to look up
        notes.append(f"{len(empty)} documents are empty and cannot be found: {some}")
    queries = _read_queries(folder / "queries.jsonl", documents)
    relevant, repeated = _read_qrels(folder, queries.keys(), found.keys())
    questions = tuple(
        replace(each, relevant=relevant.get(name, {}))
        for name, each in queries.items()
        if name in relevant or each.references or any(passage.relevance for passage in each.passages)
    )
    if not questions:
        raise InvalidInput(f"{folder}: the set lists no documents or spans that answer the questions")
    notes += repeated
    if left := len(queries) - len(questions):
        notes.append(
            f"{left} of {len(queries)} questions are skipped, because the set lists no answers for them"
        )
    parts = folder.resolve().parts
    corpus_hash = _compute_digest([[d.document, d.title, d.text, d.format] for d in documents.values()])
    return QuestionSet(
        name="-".join(parts[-2:] if len(parts[-1]) <= _SHORT else parts[-1:]),
        documents=tuple(documents.values()),
        queries=questions,
        notes=tuple(notes),
        corpus_hash=corpus_hash,
        data_hash=_compute_digest([corpus_hash, *map(_to_json, questions)]),
    )


def _read_corpus(folder: Path) -> dict[str, SetDocument]:
    """Read all documents by name, in file order, including empty ones."""
    path = folder / "corpus.jsonl"
    if not path.is_file():
        if (folder / "corpora").is_dir():
            return _read_files(folder / "corpora")
        raise InvalidInput(f"{folder} is not a question set: corpus.jsonl and corpora/ are missing")
    found: dict[str, SetDocument] = {}
    for line, wrong in _read_json_lines(path, _DocumentLine):
        if line.name in found:
            raise wrong(f"the document {line.name!r} is listed twice")
        found[line.name] = SetDocument(line.name, line.text, " ".join(line.title.split()), line.format)
    return found


def _read_files(folder: Path) -> dict[str, SetDocument]:
    """Read a corpus of files. A document's name is the file name without extension."""
    found: dict[str, SetDocument] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.suffix not in _FORMATS:
            raise InvalidInput(f"{path}: only {', '.join(_FORMATS)} are read in a set")
        if path.stem in found:
            raise InvalidInput(f"{path}: another file is called {path.stem!r}, too")
        try:
            text = require_storable(read_text_file(path))
        except ValueError as error:
            raise InvalidInput(f"{path}: it {error}") from None
        found[path.stem] = SetDocument(path.stem, text, format=_FORMATS[path.suffix])
    return found


def _read_queries(path: Path, documents: Mapping[str, SetDocument]) -> dict[str, SetQuery]:
    queries: dict[str, SetQuery] = {}
    for line, wrong in _read_json_lines(path, _QueryLine):
        if line.name in queries:
            raise wrong(f"the question {line.name!r} is listed twice")
        references = tuple(_build_reference(each, line.doc, documents, wrong) for each in line.spans)
        passages = dict[Reference, JudgedPassage]()
        for each in line.passages:
            place = _build_reference(each, each.doc, documents, wrong)
            if place in passages:
                raise wrong("a passage is judged twice")
            passages[place] = JudgedPassage(each.doc, place.start, place.end, each.relevance)
        queries[line.name] = SetQuery(
            line.name, line.text, references=references, passages=tuple(passages.values())
        )
    if not queries:
        raise InvalidInput(f"{path}: no questions")
    return queries


def _build_reference(
    span: _Span, name: str | None, documents: Mapping[str, SetDocument], wrong: Callable[[str], InvalidInput]
) -> Reference:
    if name is None or name not in documents:
        raise wrong(f"a span or passage names the document {name!r}, which is not in the corpus")
    text = documents[name].text
    if not span.start < span.end <= len(text):
        raise wrong(f"{name!r} has {len(text)} characters, and none from {span.start} to {span.end}")
    if span.text not in (None, there := text[span.start : span.end]):
        raise wrong(f"{name!r} has {there!r} from {span.start} to {span.end}, not {span.text!r}")
    return Reference(name, span.start, span.end)


def _read_qrels(
    folder: Path, queries: Container[str], documents: Container[str]
) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Read the optional judgements: relevance by question and document, and notes."""
    path = next((folder / place for place in QRELS_PLACES if (folder / place).is_file()), None)
    if path is None:
        return {}, []
    judged: dict[tuple[str, str], int] = {}
    repeated = 0
    for number, line in _read_lines(path):
        found = _JUDGEMENT.fullmatch(line.strip())
        if found is None and number == 1 and line.count("\t") == 2:  # noqa: PLR2004 - header of three columns
            continue
        if found is None:
            message = "is not a judgement: write query-id, corpus-id, and a whole number, with tabs between"
            raise _report_wrong_line(path, number, f"{line.strip()[:200]!r} {message}")
        query, document, relevance = found[1], found[2], int(found[3])
        for name, known, kind in ((query, queries, "question"), (document, documents, "document")):
            if name not in known:
                raise _report_wrong_line(path, number, f"{kind} {name!r} not found in this set")
        repeated += (query, document) in judged
        if judged.setdefault((query, document), relevance) != relevance:
            raise _report_wrong_line(path, number, f"{query!r} and {document!r} were judged otherwise before")
    if not judged:
        raise InvalidInput(f"{path}: no judgements")
    relevant = defaultdict[str, dict[str, int]](dict)
    for query, document in (place for place, relevance in judged.items() if relevance > 0):
        relevant[query][document] = judged[query, document]
    return relevant, [f"{path.name} says {repeated} judgements more than once"] if repeated else []


def _to_json(query: SetQuery) -> list[Any]:
    references = [[each.document, each.start, each.end] for each in query.references]
    passages = [[each.document, each.start, each.end, each.relevance] for each in query.passages]
    fields = [query.query_id, query.text, sorted(query.relevant.items()), references]
    return [*fields, passages] if passages else fields


def _compute_digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:16]


# Samples for a first look (some questions), a decision (hundreds) or the record (all)

SEED = 20_260_101


def sample_queries(queries: Sequence[SetQuery], tier: Tier, seed: int = SEED) -> list[SetQuery]:
    """Choose the questions of a tier. A seed gives the same questions, including all of smaller tiers."""
    count = TIERS[tier]
    if count is None or count >= len(queries):
        return list(queries)
    order = sorted(queries, key=lambda query: query.query_id)
    random.Random(seed).shuffle(order)  # noqa: S311 - a sample, no secret
    chosen = {query.query_id for query in order[:count]}
    return [query for query in queries if query.query_id in chosen]


def sample_hash(queries: Sequence[SetQuery]) -> str:
    ids = "\n".join(sorted(query.query_id for query in queries))
    return hashlib.sha256(ids.encode()).hexdigest()[:16]


def write_set(
    folder: Path, documents: Sequence[SetDocument], queries: Sequence[SetQuery], about: Mapping[str, Any]
) -> None:
    """Write corpus.jsonl, queries.jsonl with spans, qrels.tsv, and about.json with the provenance."""
    texts = {each.document: each.text for each in documents}

    def quote(each: Reference | JudgedPassage) -> str:
        return texts[each.document][each.start : each.end]

    corpus, questions = list[dict[str, Any]](), list[dict[str, Any]]()
    for document in documents:
        row = {"_id": document.document, "title": document.title, "text": document.text}
        corpus.append(row | ({"format": document.format} if document.format else {}))
    judged = ["query-id\tcorpus-id\tscore\n"]
    for query in queries:
        row: dict[str, Any] = {"_id": query.query_id, "text": query.text}
        if query.references:
            spans = [{"start": e.start, "end": e.end, "text": quote(e)} for e in query.references]
            row |= {"doc": query.references[0].document, "spans": spans}
        if query.passages:
            row["passages"] = [
                {
                    "doc": e.document,
                    "start": e.start,
                    "end": e.end,
                    "relevance": e.relevance,
                    "text": quote(e),
                }
                for e in query.passages
            ]
        questions.append(row)
        judged += [f"{query.query_id}\t{name}\t{score}\n" for name, score in query.relevant.items()]
    parts = {
        "corpus.jsonl": _to_json_lines(corpus),
        "queries.jsonl": _to_json_lines(questions),
        "qrels.tsv": "".join(judged),
        "about.json": json.dumps(about, indent=1, ensure_ascii=False) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty. Choose a new folder")
        for name, text in parts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written: {error.strerror}") from error


def _to_json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
