"""What the template context is worth on documents that have titles: nDCG@10 and recall@10 on claude_docs.

    python -m benchmarks.chunk_context [--data ../shared/data/claude_docs] [--vectors FOLDER]

A section is found by its best chunk. The document's title is the page's name in the address, and the heading
is the section's title; the interval is that of the mean difference of template to none, by question.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.chunk_retrieval import Vectors
from benchmarks.chunking import opened
from benchmarks.local_models import interval, load, ndcg
from kg_api.providers.embedding_port import BGE_SMALL
from kg_api.schemas.embedding import Chunking
from kg_api.text.borders import ChunkSpan, Paragraph
from kg_api.text.chunking import fit_chunks, split_to_chunks
from kg_api.text.contexts import add_context, fill_usual_template
from kg_api.text.documents import parse
from kg_api.text.sources import split

DATA = Path(__file__).parents[2] / "shared/data/claude_docs"
TOP = 10


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--vectors", type=Path)
    given = arguments.parse_args()
    vectors = Vectors(opened(BGE_SMALL), given.vectors)
    print("| setting | chunks | nDCG@10 none | template | difference | recall@10 none | template |")
    print("|" + "---|" * 7)
    for chunking in (Chunking(), *(Chunking(chunk_size=size) for size in (140, 60))):
        sizes, none = measured(vectors, given.data, chunking)
        _, with_template = measured(vectors, given.data, chunking.model_copy(update={"context": "template"}))
        gain = interval(with_template[0] - none[0])
        first, second = (f"{none[at].mean():.3f} | {with_template[at].mean():.3f}" for at in (0, 1))
        print(f"| paragraph {chunking.size} words | {sizes} | {first} | {gain} | {second} |", flush=True)


def measured(
    vectors: Vectors, folder: Path, chunking: Chunking
) -> tuple[int, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The number of chunks; nDCG and recall of each question."""
    data, owners, texts = load(folder, "claude_docs"), list[str](), list[str]()
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        section = json.loads(line)
        found = chunks(vectors, section["_id"], section["title"], section["text"], chunking)
        texts += found
        owners += [section["_id"]] * len(found)
    names = list(data.relevant)
    scores = vectors.queries([data.queries[name] for name in names]) @ vectors.passages(texts).T
    ranked = [list(dict.fromkeys(owners[at] for at in np.argsort(-row, kind="stable"))) for row in scores]
    pairs = [(found[:TOP], data.relevant[name]) for found, name in zip(ranked, names, strict=True)]
    recalls = [len(right & set(found)) / len(right) for found, right in pairs]
    return len(texts), (np.array([ndcg(*pair) for pair in pairs]), np.array(recalls))


def chunks(vectors: Vectors, address: str, heading: str, text: str, chunking: Chunking) -> list[str]:
    """What is embedded of one section."""
    page = address.partition("#")[0].rpartition("/")[2].replace("-", " ")

    def before(span: ChunkSpan) -> str:
        said = text[span.start : span.end]
        return fill_usual_template(page, (heading,), {}, said) if chunking.context == "template" else ""

    paragraphs = [Paragraph(span.start, span.end, span.heading) for span in split(parse(text, "a.md"))]
    spans = fit_chunks(text, split_to_chunks(text, paragraphs, chunking), vectors.embedder.spans, before)
    return [add_context(before(span), text[span.start : span.end]) for span in spans]


if __name__ == "__main__":
    main()
