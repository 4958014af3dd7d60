"""Question sets in a folder: corpus.jsonl or corpora/, queries.jsonl with or without spans, qrels.tsv."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from kg_api.errors import InvalidInput
from kg_api.evaluate.sets.qrels import read_qrels
from kg_api.evaluate.sets.records import Record, json_lines, text_of
from kg_api.models.base import storable
from kg_api.models.evaluation import JudgedPassage, QuestionSet, Reference, SetDocument, SetQuery
from kg_api.models.library.parsing import Format
from kg_api.models.vocabulary import MAX_QUERY_CHARACTERS

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
