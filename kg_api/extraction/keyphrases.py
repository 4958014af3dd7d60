"""Extractor without a language model: key phrases, ranked per document, with sentences as evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kg_api.extraction.language import Token, detect_language, split_tokens, weigh_words
from kg_api.extraction.phrases import (
    Mention,
    Phrase,
    RankedPhrase,
    find_code_names,
    find_phrases,
    rank_phrases,
)
from kg_api.extraction.prose import split_sentences
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.schemas.base import compute_digest
from kg_api.schemas.concepts import ExtractedConcept, Extraction, Quote
from kg_api.schemas.documents import BlockKind, SourceBlock
from kg_api.schemas.vocabulary import ExtractorName

VERSION = "11"  # a change extracts all sources again
MAX_LABEL_LENGTH = 200
MAX_QUOTE_LENGTH = 1000
QUOTES = 3  # sentences of a source per concept
_PART = 100_000
"""Characters of a document that are ranked together. Longer documents are divided between sources."""

Found = dict[str, tuple[ExtractedConcept, ...]]


class KeyphraseExtractor:
    """Extractor of names, noun phrases and repeated words."""

    def __init__(self, per_source: int) -> None:
        self._per_source = per_source
        self._last: tuple[tuple[tuple[str, str, tuple[SourceBlock, ...]], ...], Found] = ((), {})

    @property
    def name(self) -> ExtractorName:
        return "keyphrase"

    @property
    def mark(self) -> str:
        """Fingerprint of everything that determines the result."""
        return compute_digest("keyphrase", VERSION, str(self._per_source))[:12]

    def extract(
        self, due: Sequence[SourceText], document: Sequence[SourceText], about: DocumentAbout
    ) -> list[Extraction]:
        """Extract the concepts of sources. The result does not depend on the number of pending sources."""
        del about
        wanted = {each.source_id for each in due}
        found: Found = {}
        part = list[SourceText]()
        size = 0
        for each in [*document, None]:
            if part and (each is None or size + len(each.full_text) > _PART):
                if not wanted.isdisjoint(one.source_id for one in part):
                    found |= self._read(part)
                part, size = [], 0
            if each is not None:
                part.append(each)
                size += len(each.full_text)
        kinds: dict[str, tuple[BlockKind, ...]] = {
            each.source_id: tuple(block.kind for block in each.blocks) for each in document
        }
        return [
            Extraction(
                each.source_id,
                each.content_hash,
                found.get(each.source_id, ()),
                block_kinds=kinds.get(each.source_id) or None,
            )
            for each in due
        ]

    def _read(self, part: Sequence[SourceText]) -> Found:
        """Extract a part of a document. The last result is cached for the next batch of this document."""
        key = tuple((each.source_id, each.content_hash, each.blocks) for each in part)
        last = self._last  # a thread of an abandoned job may still be reading
        if key != last[0]:
            last = self._last = (key, find(part, self._per_source))
        return last[1]


def find(sources: Sequence[SourceText], per_source: int) -> Found:
    """Extract the concepts of sources that are ranked together."""
    places = list[tuple[int, tuple[int, int]]]()
    lines = list[list[Token]]()
    for at, source in enumerate(sources):
        for sentence in split_sentences(source.full_text, source.blocks):
            places.append((at, (sentence.start, sentence.end)))
            lines.append(split_tokens(sentence.text, sentence.start))
    words = [token.text for line in lines for token in line if token.is_word]
    language = detect_language(words)
    mentions = [
        Mention(*place, phrase)
        for place, line in zip(places, lines, strict=True)
        for phrase in find_phrases(line, language)
        if phrase.end - phrase.start <= MAX_LABEL_LENGTH
    ]
    weights = weigh_words(lines, language)
    for at, (start, end) in places:
        for begin, stop, sure in find_code_names(sources[at].full_text[start:end]):
            name = sources[at].full_text[start + begin : start + stop]
            token = Token(name, start + begin, start + stop, is_word=True)
            mentions.append(Mention(at, (start, end), Phrase((token,), is_sure=sure, is_typical=False)))
    mentions.sort(key=lambda each: each.place)
    by_source: defaultdict[int, list[tuple[RankedPhrase, list[Mention]]]] = defaultdict(list)
    for each in rank_phrases(mentions, weights, language, len(words)):
        there: defaultdict[int, list[Mention]] = defaultdict(list)
        for mention in each.mentions:
            there[mention.source].append(mention)
        for at, some in there.items():
            by_source[at].append((each, some))
    return {
        source.source_id: tuple(_choose(by_source[at], source.full_text, per_source))
        for at, source in enumerate(sources)
    }


def _choose(
    ranked: Sequence[tuple[RankedPhrase, Sequence[Mention]]], text: str, most: int
) -> Iterator[ExtractedConcept]:
    """Choose the best phrases of a source, without phrases that another one contains."""
    taken: list[frozenset[str]] = []
    for each, mentions in ranked:
        if len(taken) == most:
            return
        if not any(each.words < words for words in taken):
            taken.append(each.words)
            spans = dict.fromkeys(_find_span(each, text) for each in mentions)
            yield ExtractedConcept(
                each.label,
                tuple(Quote(text[start:end], start, end) for start, end in list(spans)[:QUOTES]),
                confidence=round(1 / (1 + each.weight), 3),
                forms=each.others,
            )


def _find_span(mention: Mention, text: str) -> tuple[int, int]:
    """Return the sentence, or the text around the phrase if the sentence is too long."""
    start, end = mention.sentence
    if end - start <= MAX_QUOTE_LENGTH:
        return start, end
    around = (MAX_QUOTE_LENGTH - (mention.phrase.end - mention.phrase.start)) // 2
    start, end = max(start, mention.phrase.start - around), min(end, mention.phrase.end + around)
    while start < mention.phrase.start and (text[start].isspace() or not text[start - 1 : start].isspace()):
        start += 1
    while end > mention.phrase.end and (text[end - 1].isspace() or not text[end : end + 1].isspace()):
        end -= 1
    return start, end
