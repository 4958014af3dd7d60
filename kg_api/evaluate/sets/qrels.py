"""Judgements: which document answers which question, and how well."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from kg_api.errors import InvalidInput
from kg_api.evaluate.sets.records import lines, wrong

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
