"""What late chunking is worth: each chunk read among its neighbours, alone and mixed with it by itself.

    python -m benchmarks.late_chunking [--sets claude_docs xquad chroma] [--models bge-small-en-v1.5]
        [--sizes 60 140] [--data ../shared/data] [--vectors FOLDER] [--json FILE]

By exact cosine alone. claude_docs and xquad: nDCG@10 and recall@10, a section or paragraph found by its best
chunk; neighbours are those of the same page or article. chroma: token recall and IoU of five chunks. The
interval is that of the mean difference to `none`, by question. `late 0.3`: three tenths of the mean of the
chunk's tokens in its window, the rest its own vector; `late 1` is late chunking as it was published.
"""

from __future__ import annotations

import argparse
import json
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import chunking as chroma
from benchmarks.chunk_retrieval import Vectors
from benchmarks.local_models import interval, load, ndcg
from kg_api.providers.embedding_port import CATALOGUE, DEFAULT, TextPart
from kg_api.providers.model_files import join_vectors
from kg_api.schemas.embedding import Chunking
from kg_api.spaces.chunk_plans import split_parts
from kg_api.text.borders import ChunkSpan, Paragraph
from kg_api.text.chunking import fit_chunks, split_to_chunks
from kg_api.text.contexts import add_context, fill_usual_template
from kg_api.text.documents import parse
from kg_api.text.sources import split

DATA = Path(__file__).parents[2] / "shared/data"
TOP = 10
SHARES = (0.2, 0.3, 0.4, 0.5, 1.0)


@dataclass(frozen=True)
class Document:
    """Paragraphs that stand beside each other, and what each belongs to."""

    title: str
    text: str
    paragraphs: list[Paragraph]
    owners: list[str]


@dataclass
class Chunks:
    """All chunks of a set, with what is embedded of each."""

    owners: list[str]
    spans: list[ChunkSpan]
    alone: list[str]
    with_template: list[str]
    parts: list[TextPart]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    data: str
    model: str
    words: int
    context: str
    chunks: int
    score: float
    difference: str
    second: float


Judge = Callable[[Chunks, NDArray[np.float32]], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""From similarities, shape (questions, chunks), to two scores of each question."""
Known = tuple[list[Document], list[str], Judge]
"""Documents, questions, and what judges the answers."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sets", nargs="+", default=["claude_docs", "xquad", "chroma"])
    arguments.add_argument("--models", nargs="+", default=[DEFAULT.spec.name])
    arguments.add_argument("--sizes", nargs="+", type=int, default=[60, 140])
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--vectors", type=Path)
    arguments.add_argument("--json", type=Path)
    given, rows = arguments.parse_args(), list[Row]()
    for name in given.models:
        vectors = Vectors(chroma.opened(CATALOGUE[name]), given.vectors)
        for data in given.sets:
            known = SETS[data](given.data)
            for size in given.sizes:
                rows += measured(vectors, data, known, size)
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")


def measured(vectors: Vectors, data: str, known: Known, size: int) -> Iterator[Row]:
    documents, questions, judge = known
    begun = time.perf_counter()
    chunks = chunked(vectors, documents, Chunking(chunk_size=size))
    asked = vectors.queries(questions)
    first: NDArray[np.float64] | None = None
    print(
        f"\n{data}, {vectors.embedder.identity.model}, paragraph {size} words, {len(chunks.alone)} chunks in "
    )
    print(f"{len({part.text for part in chunks.parts})} windows\n\n| context | first | difference | second |")
    print("|---|---|---|---|")
    for context, matrix in variants(vectors, chunks):
        scores, second = judge(chunks, asked @ matrix.T)
        first = scores if first is None else first
        difference = interval(scores - first)
        row = Row(
            data,
            vectors.embedder.identity.model,
            size,
            context,
            len(chunks.alone),
            float(scores.mean()),
            difference,
            float(second.mean()),
        )
        print(f"| {context} | {row.score:.3f} | {difference} | {row.second:.3f} |", flush=True)
        yield row
    print(f"\n{time.perf_counter() - begun:.0f} s", flush=True)


def variants(vectors: Vectors, chunks: Chunks) -> Iterator[tuple[str, NDArray[np.float32]]]:
    none, with_template = vectors.passages(chunks.alone), vectors.passages(chunks.with_template)
    yield "none", none
    yield "template", with_template
    within = vectors.embedder.within(chunks.parts)
    for share in SHARES:
        yield f"late {share:g}", join_vectors(none, within, share)
    for share in SHARES[:-1]:
        yield f"template and late {share:g}", join_vectors(with_template, within, share)


def chunked(vectors: Vectors, documents: list[Document], chunking: Chunking) -> Chunks:
    found, embedder = Chunks([], [], [], [], []), vectors.embedder
    for each in documents:
        text, paragraphs = each.text, each.paragraphs
        spans = fit_chunks(text, split_to_chunks(text, paragraphs, chunking), embedder.spans, lambda _: "")
        starts = [paragraph.start for paragraph in paragraphs]
        at = [bisect_right(starts, span.start) - 1 for span in spans]
        said = [text[span.start : span.end] for span in spans]
        found.owners += [each.owners[paragraph] for paragraph in at]
        found.spans += spans
        found.alone += said
        found.with_template += [
            fitting(vectors, fill_usual_template(each.title, paragraphs[paragraph].heading, {}, own), own)
            for paragraph, own in zip(at, said, strict=True)
        ]
        found.parts += split_parts(text, paragraphs, spans, [""] * len(spans), embedder)
    return found


def fitting(vectors: Vectors, before: str, said: str) -> str:
    """With its context in front, if that leaves room for the chunk, which here is not to be cut for it."""
    whole = add_context(before, said)
    return whole if len(vectors.embedder.spans(whole)) == 1 else said


def pages(folder: Path) -> Known:
    """Give claude_docs: the sections of a page are neighbours."""
    sections = lines(folder / "claude_docs/corpus.jsonl")
    of = {each["_id"]: each["_id"].partition("#")[0] for each in sections}
    names = {page: page.rpartition("/")[2].replace("-", " ") for page in of.values()}
    documents = joined_by(sections, of, names, headings=True)
    return documents, *judged(folder / "claude_docs", "claude_docs")


def articles(folder: Path) -> Known:
    """Give xquad in English: the paragraphs of an article are neighbours."""
    paragraphs = lines(folder / "xquad/en/corpus.jsonl")
    of = {each["_id"]: each["title"] for each in paragraphs}
    names = {title: title.replace("_", " ") for title in of.values()}
    return joined_by(paragraphs, of, names, headings=False), *judged(folder / "xquad/en", "xquad")


def corpora(folder: Path) -> Known:
    """Give chroma_chunking: five long texts, whose titles are files' names."""
    questions, parsed = chroma.load(folder / "chroma_chunking")
    documents: list[Document] = []
    for name, document in parsed.items():
        paragraphs = [Paragraph(span.start, span.end, span.heading) for span in split(document)]
        documents.append(Document(document.title, document.text, paragraphs, [name] * len(paragraphs)))

    def judge(
        chunks: Chunks, similarities: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        table = np.array(
            [
                chroma.score(
                    question,
                    [chunks.owners[at] for at in best],
                    [(chunks.spans[at].start, chunks.spans[at].end) for at in best],
                )
                for question, row in zip(questions, similarities, strict=True)
                for best in [np.argsort(-row, kind="stable")[: chroma.RETRIEVED]]
            ]
        )
        return table[:, 0], table[:, 2]

    return documents, [question.text for question in questions], judge


SETS = {"claude_docs": pages, "xquad": articles, "chroma": corpora}


def judged(folder: Path, name: str) -> tuple[list[str], Judge]:
    data = load(folder, name)
    names = list(data.relevant)

    def judge(
        chunks: Chunks, similarities: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        pairs = [
            (list(dict.fromkeys(chunks.owners[at] for at in np.argsort(-row, kind="stable")))[:TOP], relevant)
            for row, relevant in zip(similarities, (data.relevant[name] for name in names), strict=True)
        ]
        recalls = [len(right & set(found)) / len(right) for found, right in pairs]
        return np.array([ndcg(*pair) for pair in pairs]), np.array(recalls)

    return [data.queries[name] for name in names], judge


def joined_by(
    entries: list[dict[str, str]], of: dict[str, str], names: dict[str, str], *, headings: bool
) -> list[Document]:
    documents: list[Document] = []
    for key, name in names.items():
        text, paragraphs, owners = "", list[Paragraph](), list[str]()
        for each in (entry for entry in entries if of[entry["_id"]] == key):
            heading = (each["title"],) if headings else ()
            for span in split(parse(f"{each['text']}\n\n", "a.md")):
                paragraphs.append(Paragraph(len(text) + span.start, len(text) + span.end, heading))
                owners.append(each["_id"])
            text += f"{each['text']}\n\n"
        documents.append(Document(name, text, paragraphs, owners))
    return documents


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    main()
