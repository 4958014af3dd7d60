"""How often kg says rightly that nothing is near, and how often it says so wrongly.

    python -m benchmarks.nothing_near ../shared/data --model bge-small-en-v1.5 --cache /tmp/vectors

Questions of a set are asked to its own passages (something is near), and to those of every other set, with
44 phrases of other fields (nothing is; sets whose subjects meet are told apart less well). A question is near
where kg says so: by the floor of the model, or where the nearest passage has half of its words.
No database, and so no keyword search: benchmarks.note_errors measures whole searches.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg_api.ingest.records import Incoming, to_record
from kg_api.providers.embedding import open_embedder
from kg_api.providers.embedding_port import Embedder
from kg_api.schemas.search import MatchedChunk, Ranks, SourceHit
from kg_api.schemas.spaces import ModelChoice
from kg_api.search.fusion import MARGIN, count_words, find_content_words, get_relevance_floor, has_enough
from kg_api.settings import load_settings
from kg_api.spaces.open_spaces import calibrate_similarity

PHRASES = Path(__file__).parent / "concept_questions.tsv"
PEPS = ["0257", "0405", "0492", "0572", "0634", "0654"]
CHROMA = {"state_of_the_union": 50_000, "pubmed": 180_000, "chatlogs": 50_000, "wikitexts": 60_000}
"""By corpus, the characters that are taken."""
QUESTIONS = 50


@dataclass(frozen=True)
class Set:
    """Passages, and questions that they answer."""

    passages: list[str]
    questions: list[str]
    vectors: NDArray[np.float32]
    asked: NDArray[np.float32]


def main() -> None:
    """Measure, and print what is told rightly."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="bge-small-en-v1.5")
    parser.add_argument("--cache", type=Path, required=True, help="Folder that vectors are kept in.")
    given = parser.parse_args()
    embedder = open_embedder(load_settings(), ModelChoice(provider="local", model=given.model))
    space: Any = SimpleNamespace(identity=embedder.identity, calibration=calibrate_similarity(embedder))
    sets = {name: embedded(name, *texts, embedder, given.cache) for name, texts in texts_of(given.data)}
    phrases = embedded("phrases", [], phrases_of("nonsense"), embedder, given.cache)
    told: dict[str, dict[str, float]] = {}
    for name, each in sets.items():
        foreign = [other for at, other in sets.items() if at != name]
        told[name] = {
            "passages": len(each.passages),
            "own questions near": share(is_near(space, each, each)),
            "others told": 1 - share([near for other in foreign for near in is_near(space, each, other)]),
            "phrases told": 1 - share(is_near(space, each, phrases)),
        }
    mean = {key: round(float(np.mean([each[key] for each in told.values()])), 3) for key in told["xquad"]}
    print(json.dumps({"model": given.model, **told, "mean": mean}, indent=1))


def is_near(space: Any, among: Set, asking: Set) -> list[bool]:
    """For each question, whether kg would say that something is near."""
    return [
        _is_near(space, among, question, vector)
        for question, vector in zip(asking.questions, asking.asked, strict=True)
    ]


def _is_near(space: Any, among: Set, question: str, vector: NDArray[np.float32]) -> bool:
    words = find_content_words(question)
    cosines = among.vectors @ vector
    floor = get_relevance_floor(space, len(words))
    assert floor is not None
    nearest = _hit(among.passages[int(cosines.argmax())])
    return bool(cosines.max() >= floor - MARGIN) or has_enough(count_words(nearest, words), words)


def texts_of(data: Path) -> Iterable[tuple[str, tuple[list[str], list[str]]]]:
    """Each set's passages and questions."""
    yield "claude_docs", _claude(data / "claude_docs")
    xquad = data / "xquad" / "en"
    rows = _lines(xquad / "queries.jsonl")
    yield ("xquad", (_passages(map(_document, _lines(xquad / "corpus.jsonl"))), _some(rows)))
    asked = _lines(data / "chroma_chunking" / "queries.jsonl")
    for name, characters in CHROMA.items():
        text = (data / "chroma_chunking" / "corpora" / f"{name}.md").read_text(encoding="utf-8")[:characters]
        own = [row for row in asked if row["corpus_id"] == name]
        own = [row for row in own if all(part["end"] < characters for part in row["references"])]
        yield name, (_passages([(name, text)]), _some(own))
    peps = ((f"{n}.rst", data / "python_peps" / "rst" / f"pep-{n}.rst") for n in PEPS)
    yield "peps", (_passages((n, at.read_text(encoding="utf-8")) for n, at in peps), phrases_of("right"))


def _claude(folder: Path) -> tuple[list[str], list[str]]:
    rows = _lines(folder / "queries.jsonl")[:QUESTIONS]
    wanted = {row["_id"] for row in rows}
    lines = [line.split("\t") for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()]
    there = {line[1] for line in lines if line[0] in wanted}
    documents = [row for row in _lines(folder / "corpus.jsonl") if row["_id"] in there]
    return _passages(map(_document, documents)), [row["text"] for row in rows]


def _document(row: dict[str, Any]) -> tuple[str, str]:
    return f"{row['_id']}.md", f"{row.get('title') or ''}\n\n{row['text']}"


def phrases_of(kind: str) -> list[str]:
    """Those of concept_questions.tsv that are about PEPs (`right`), or about other fields (`nonsense`)."""
    rows = (line.split("\t") for line in PHRASES.read_text(encoding="utf-8").splitlines())
    return [phrase.strip() for known, phrase in rows if known == kind]


def embedded(name: str, passages: list[str], questions: list[str], embedder: Embedder, cache: Path) -> Set:
    """A set with its vectors; they are kept."""
    texts = [text[: embedder.spans(text)[0][1]] for text in passages]
    at = cache / embedder.identity.model / name
    asked = kept(at, "asked", questions, lambda: np.stack([*map(embedder.embed_query, questions)]))
    return Set(passages, questions, kept(at, "vectors", texts, lambda: embedder.embed_passages(texts)), asked)


def kept(
    folder: Path, kind: str, texts: Sequence[str], embed: Callable[[], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """The vectors of some texts, as they were made before."""
    at = folder / f"{kind}-{hashlib.sha256(repr(texts).encode()).hexdigest()[:16]}.npy"
    if not texts:
        return np.zeros((0, 1), dtype=np.float32)
    if not at.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(at, embed())
    return np.load(at)


def share(values: Sequence[bool]) -> float:
    """Of those that hold."""
    return round(sum(values) / len(values), 3)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _some(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [row["text"] for row in rows[:: max(1, len(rows) // QUESTIONS)][:QUESTIONS]]


def _passages(documents: Iterable[tuple[str, str]]) -> list[str]:
    records = (to_record(Incoming(ontology="o", document=name, text=text))[0] for name, text in documents)
    return [source.full_text for record in records for source in record.sources]


def _hit(text: str) -> SourceHit:
    where: dict[str, Any] = dict.fromkeys(("source_id", "ontology", "document", "document_id"), "")
    chunk = MatchedChunk(text=text, start=0, end=len(text))
    about: dict[str, Any] = {"similarity": None, "score": 0, "ranks": Ranks(), "chunk": chunk}
    return SourceHit(**where, **about, paragraph=0, heading=[], start=0, end=len(text), full_text=text)


if __name__ == "__main__":
    main()
