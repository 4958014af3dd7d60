"""What a language model is asked for: the concepts of some passages, their neighbours shown beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

from kg_api.graph.spaces.due import DocumentAbout, SourceText
from kg_api.llm.parts import MAX_TITLE_LENGTH, short_metadata
from kg_api.llm.prompts import Chunk, Prompt, names_of, path_of
from kg_api.llm.schemas import NUMBER, TEXT, list_of, object_of
from kg_api.models.identity import digest

TOGETHER = 8
"""Passages in one question, one behind the other in the document."""
MAX_BYTES = 8_000
"""Bytes of passages in one question, unless one alone has more."""
VERSION = "1"
"""Of how answers are asked for and read; another one makes all sources due again."""
BESIDE = 600
"""Characters that are shown of the source before the passages, and of the one behind them."""
WORDS_A_CONCEPT = 25
CONCEPT_TOKENS = 110
"""Of a concept in an answer with its quote, and a relation now and then: a guess, for estimates."""
PASSAGE_TOKENS = 20
CONCEPT = object_of(
    label=TEXT, description=TEXT, search_terms=list_of(TEXT), quotes=list_of(TEXT), confidence=NUMBER
)
RELATION = object_of(subject=TEXT, type=TEXT, object=TEXT, confidence=NUMBER)
SCHEMA = object_of(
    passages=list_of(object_of(id=TEXT, concepts=list_of(CONCEPT), relations=list_of(RELATION)))
)


@dataclass(frozen=True, slots=True)
class ExtractionPassage:
    """A source to be read, and what stands before and behind it."""

    source: SourceText
    before: str
    after: str
    at: int
    """Which of its document's sources it is, from 0."""

    @property
    def chunk(self) -> Chunk:
        """As names are made for it."""
        return Chunk(self.source.full_text, self.source.heading)

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.source.full_text.encode(errors="replace"))

    @property
    def words(self) -> int:
        """How many it has; a tenth of its characters at least, where words are written together."""
        text = self.source.full_text
        return max(len(text.split()), len(text) // 10)


@cache
def instruction(per_source: int) -> str:
    """The prompt, from its file."""
    text = resources.files("kg_api").joinpath("extract/prompts/concepts.md").read_text(encoding="utf-8")
    return Template(text).substitute(per_source=per_source)


def passages_of(due: Sequence[SourceText], document: Sequence[SourceText]) -> list[ExtractionPassage]:
    """The sources that are due, among their neighbours; one that its document has no more stands alone."""
    places = {source.source_id: at for at, source in enumerate(document)}
    return [_passage(source, document, places.get(source.source_id)) for source in due]


def key_of(model: str, per_source: int, about: DocumentAbout, passage: ExtractionPassage) -> str:
    """A hash of all that decides over what is found in a passage."""
    shown = json.dumps([about.title, short_metadata(about.metadata)], ensure_ascii=False)
    source = passage.source
    beside = (passage.before, passage.after)
    return digest(
        "concepts", VERSION, model, instruction(per_source), shown, *beside, *source.heading, source.full_text
    )


def batches(passages: Sequence[ExtractionPassage]) -> Iterator[list[ExtractionPassage]]:
    """Passages that follow on each other, so many that they can be asked for at once."""
    batch: list[ExtractionPassage] = []
    for passage in passages:
        full = len(batch) == TOGETHER or sum(each.size for each in batch) + passage.size > MAX_BYTES
        if batch and (full or passage.at != batch[-1].at + 1):
            yield batch
            batch = []
        batch.append(passage)
    if batch:
        yield batch


def question(about: DocumentAbout, batch: Sequence[ExtractionPassage], per_source: int) -> Prompt:
    """What is asked about some passages that follow on each other."""
    data = {
        "title": about.title[:MAX_TITLE_LENGTH],
        "metadata": dict(short_metadata(about.metadata)),
        "text_before": batch[0].before,
        "passages": [
            {"id": name, "headings": path_of(each.source.heading), "text": each.source.full_text}
            for name, each in zip(names(batch), batch, strict=True)
        ],
        "text_after": batch[-1].after,
    }
    return Prompt(instruction(per_source), json.dumps(data, ensure_ascii=False), "concepts", SCHEMA)


def names(batch: Sequence[ExtractionPassage]) -> list[str]:
    """The ids of passages in a question."""
    return names_of([each.chunk for each in batch])


def answer_tokens(passages: Iterable[ExtractionPassage], per_source: int) -> int:
    """About how much will be written of some passages."""
    concepts = (min(per_source, 1 + each.words // WORDS_A_CONCEPT) for each in passages)
    return sum(PASSAGE_TOKENS + CONCEPT_TOKENS * count for count in concepts)


def _passage(source: SourceText, document: Sequence[SourceText], at: int | None) -> ExtractionPassage:
    if at is None:
        return ExtractionPassage(source, "", "", -1)
    before = document[at - 1].full_text[-BESIDE:] if at else ""
    after = document[at + 1].full_text[:BESIDE] if at + 1 < len(document) else ""
    return ExtractionPassage(source, before, after, at)
