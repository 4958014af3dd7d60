"""A question set written to a folder, as `read_set` reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kg_api.errors import Conflict, InvalidInput
from kg_api.models.evaluation import SetDocument, SetQuery


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
        "queries.jsonl": _lines(_query(query, texts) for query in queries),
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


def _query(query: SetQuery, texts: Mapping[str, str]) -> dict[str, Any]:
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
