import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

CORPUS = [
    {"_id": "leases", "title": "Leases", "text": "A worker renews its lease every ten seconds."},
    {"_id": "retries", "title": "Retries", "text": "A failed call is tried again after one second."},
    {"_id": "money", "title": "", "text": "Prices are in dollars for a million tokens."},
]
QUERIES = [
    {"_id": "q1", "text": "how often is a lease renewed"},
    {"_id": "q2", "text": "when is a call tried again"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tleases\t1\nq2\tretries\t2\nq2\tmoney\t0\n"


def lines(values: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def write(
    folder: Path,
    corpus: Iterable[Mapping[str, Any]] = CORPUS,
    queries: Iterable[Mapping[str, Any]] = QUERIES,
    qrels: str | None = QRELS,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text(lines(corpus), encoding="utf-8")
    (folder / "queries.jsonl").write_text(lines(queries), encoding="utf-8")
    if qrels is not None:
        (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return folder
