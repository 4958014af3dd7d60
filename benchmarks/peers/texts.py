"""Texts and questions: cut into passages once, by kg's own splitting, so that all have the same."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.job import Corpus, Passage, Question
from kg_api.evaluation.run import SentDocument, build_sent_document
from kg_api.evaluation.sets import read_set, sample_queries
from kg_api.schemas.evaluation import SetQuery
from kg_api.schemas.vocabulary import Tier
from kg_api.text.documents import SUFFIXES, parse
from kg_api.text.files import select
from kg_api.text.sources import split

SEED = 5
WORDS = 10
LEAST_WORDS = 30


@dataclass(frozen=True)
class Judged:
    """A question set with its documents cut."""

    corpus: Corpus
    queries: list[SetQuery]
    """What answers each is a document, or a passage where the set names spans."""
    unit: Mapping[str, str]
    """What a passage counts as, when it is found."""


def folder_passages(folder: Path, count: int) -> list[Passage]:
    """Passages of all files, each text once, as many as asked for by chance but always the same."""
    texts: dict[str, None] = {}
    for file in select([folder], SUFFIXES).files:
        text = file.path.read_text("utf-8", errors="replace")
        texts |= dict.fromkeys(text[a:b].strip() for a, b in _cut(text, file.path.name))
    known = list(texts)
    chosen = sorted(random.Random(SEED).sample(range(len(known)), min(count, len(known))))
    return [Passage(f"p{at:06}", known[at]) for at in chosen]


def word_questions(passages: Sequence[Passage], count: int) -> list[str]:
    """Some words of random passages, in lower case and without signs, no two questions alike."""
    dice, found = random.Random(SEED), dict[str, None]()
    split_texts = [re.findall(r"\w+", each.text.lower()) for each in passages]
    long = [words for words in split_texts if len(words) > LEAST_WORDS]
    for _ in range(20 * count):
        words = dice.choice(long)
        at = dice.randrange(len(words) - WORDS)
        found[" ".join(words[at : at + WORDS])] = None
        if len(found) == count:
            break
    return list(found)


def judged(number: int, folder: Path, tier: Tier) -> Judged:
    """Read a question set and cut its documents; a title stands above its text, as in kg's own evaluation."""
    found = read_set(folder)
    sent = [build_sent_document(each) for each in found.documents]
    pieces = [(each, span) for each in sent for span in _cut(each.text, each.document, each)]
    passages = [Passage(f"p{at:06}", doc.text[a:b].strip()) for at, (doc, (a, b)) in enumerate(pieces)]
    queries = sample_queries(found.queries, tier)
    asked = [Question(each.query_id, each.text) for each in queries]
    corpus = Corpus(number, found.name, passages, asked)
    places = [(each.id, doc, span) for each, (doc, span) in zip(passages, pieces, strict=True)]
    if found.targets[0] == "documents":
        return Judged(corpus, queries, {name: doc.document for name, doc, _ in places})
    spans = [SetQuery(each.query_id, each.text, _touching(each, places)) for each in queries]
    return Judged(corpus, spans, {each.id: each.id for each in passages})


def _touching(query: SetQuery, places: Sequence[tuple[str, SentDocument, tuple[int, int]]]) -> dict[str, int]:
    """The passages that have a part of what answers a question."""
    return {
        name: 1
        for name, document, span in places
        for place in [document.find_span(*span)]
        for right in query.references
        if place.document == right.document and place.start < right.end and right.start < place.end
    }


def _cut(text: str, name: str, sent: SentDocument | None = None) -> list[tuple[int, int]]:
    document = parse(text, name, sent.format if sent else None)
    return [(span.start, span.end) for span in split(document) if text[span.start : span.end].strip()]
