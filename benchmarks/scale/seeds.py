"""Real passages by document, real questions, and the vector that kg's local model gives each: made once."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import find_model
from kg_api.settings import load_settings
from kg_api.spaces.open_spaces import read_pairs
from kg_api.text.documents import parse
from kg_api.text.sources import split

SEED = 7
SHARES = {
    "python_peps": 0.55,
    "chroma_chunking": 0.15,
    "claude_docs": 0.1,
    "xquad": 0.1,
    "musique_train100": 0.1,
}
"""Of the passages, by data set."""
MOST_A_DOCUMENT = 40
QUESTIONS_A_SET = 100
LEAST_SENTENCES, LEAST_WORDS = 3, 40
_BORDER = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_SENTENCE = re.compile(r"(?!.*(?:--|~~))[A-Z][^|{}<>=_]{20,300}[a-z0-9)][.!?]")

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Seeds:
    """What all texts of the benchmark are made of."""

    documents: list[list[list[str]]]
    """Sentences by passage by document."""
    questions: list[str]
    others: list[str]
    """Texts that kg itself asks a model for, to learn what its cosines mean."""
    passage_vectors: Vectors
    """One row a passage, in the order of the documents."""
    question_vectors: Vectors
    other_vectors: Vectors


def sentences(text: str) -> list[str]:
    """Split at the borders at which sentences were joined."""
    return _BORDER.split(text)


def load(file: Path, data: Path, passages: int) -> Seeds:
    """Read the seeds, or make them; at some 30 passages a second on two cores.

    Args:
        file: where they are kept.
        data: folder of the data sets.
        passages: how many, when they are made.
    """
    if not file.exists():
        _make(file, data, passages)
    with np.load(file) as kept:
        texts = json.loads(str(kept["texts"]))
        return Seeds(**texts, **{name: kept[name] for name in kept.files if name != "texts"})


def _make(file: Path, data: Path, passages: int) -> None:
    documents = [each for name, share in SHARES.items() for each in _some(data / name, int(passages * share))]
    questions, others = _questions(data), [each for pair in read_pairs() for each in pair]
    folder, spec = find_model(load_settings())
    embedder = LocalEmbedder(folder, spec)
    whole = [" ".join(passage) for document in documents for passage in document]
    kept: dict[str, Any] = {
        "texts": json.dumps({"documents": documents, "questions": questions, "others": others}),
        "passage_vectors": embedder.embed_passages(whole),
        "question_vectors": np.stack([embedder.embed_query(each) for each in questions]),
        "other_vectors": embedder.embed_passages(others),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, **kept)


def _some(folder: Path, passages: int) -> list[list[list[str]]]:
    """Random documents of a data set with so many passages in all, in prose."""
    documents = list(_documents(folder))
    random.Random(SEED).shuffle(documents)
    found, left = list[list[list[str]]](), passages
    for parts in documents:
        prose = [kept for part in parts if (kept := _prose(part))][: min(MOST_A_DOCUMENT, left)]
        if len(prose) > 1:
            found.append(prose)
            left -= len(prose)
    return found


def _documents(folder: Path) -> Iterator[list[str]]:
    """The passages of each document of a data set."""
    if folder.name in {"python_peps", "chroma_chunking"}:
        for path in sorted(folder.glob("rst/*.rst")) + sorted(folder.glob("corpora/*.md")):
            text = path.read_text("utf-8", errors="replace")
            parts = [text[span.start : span.end] for span in split(parse(text, path.name))]
            yield from (parts[at : at + MOST_A_DOCUMENT] for at in range(0, len(parts), MOST_A_DOCUMENT))
        return
    rows = list(_rows(folder / "en" / "corpus.jsonl" if folder.name == "xquad" else folder / "corpus.jsonl"))
    for _, group in groupby(enumerate(rows), lambda each: _document_of(folder.name, *each)):
        cut = [(row["text"], split(parse(row["text"], "text.txt"))) for _, row in group]
        yield [text[span.start : span.end] for text, spans in cut for span in spans]


def _document_of(name: str, at: int, row: dict[str, Any]) -> object:
    """What rows next to each other belong to; those of musique were candidates for the same question."""
    match name:
        case "xquad":
            return row["title"]
        case "musique_train100":
            return at // 20
        case _:
            return row["_id"].partition("#")[0]


def _prose(passage: str) -> list[str]:
    """The whole sentences of a passage; empty when they are too few."""
    kept = [each for each in sentences(" ".join(passage.split())) if _SENTENCE.fullmatch(each)]
    enough = len(kept) >= LEAST_SENTENCES and sum(len(each.split()) for each in kept) >= LEAST_WORDS
    return kept if enough else []


def _questions(data: Path) -> list[str]:
    folders: Sequence[Path] = [data / name for name in SHARES if name not in {"python_peps", "xquad"}]
    found = list[str]()
    for folder in [*folders, data / "xquad" / "en"]:
        texts = [row["text"] for row in _rows(folder / "queries.jsonl")]
        found += random.Random(SEED).sample(texts, min(QUESTIONS_A_SET, len(texts)))
    return list(dict.fromkeys(found))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
