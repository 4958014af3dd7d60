"""Concepts without a language model: key phrases, ranked over their document, with sentences as evidence."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kg_api.extraction.phrases import (
    Candidate,
    Mention,
    RankedPhrase,
    candidates,
    names_in_code,
    names_in_text,
    rank,
)
from kg_api.extraction.spaceless import spaceless_phrases
from kg_api.extraction.tagging import (
    Kind,
    Token,
    code_lines,
    is_rare,
    kinds_of,
    language_of,
    lists,
    sentences,
    stop_words,
    tokens,
    weigh,
)
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.schemas.base import digest
from kg_api.schemas.concepts import ExtractedConcept, Extraction, Quote
from kg_api.schemas.documents import BlockKind, SourceBlock
from kg_api.schemas.vocabulary import ExtractorName

# Noun phrases of Spanish: a noun behind an article or a preposition, adjectives, "de" with another noun.

_MIN_LETTERS = 3
_MAX_WORDS = 5
_ARTICLES = frozenset("el la los las un una al del su sus".split())  # noqa: SIM905
_PRONOUNS = frozenset({"la", "los", "las"})
"""Articles that are objects before a verb."""
_INFINITIVE = re.compile(r"[aeií]r(?:se|l[aeo]s?)?$")
_VERB = re.compile(r"(?:[aeo]n|r[oá]n|aba|ía|ó|ará|erá|irá|aría)$")
_ADJECTIVE = re.compile(
    r"(?:al|ar|iv[oa]|ic[oa]|os[oa]|ad[oa]|id[oa]|ari[oa]|ori[oa]|bl|ant|ient|ent|an[oa]|n[oa]|e[oa]|il|dor[a]?)(?:e?s)?$"
    r"|(?:bl|ant|ent)es?$"
)
_AGREEING = re.compile(r"(?:o|a|os|as)$")


def spanish_phrases(sentence: Sequence[Token]) -> Iterator[Candidate]:
    """Give the noun phrases of a sentence in small letters, none within another, in order."""
    at = 1
    while at < len(sentence):
        end = _phrase_end(sentence, at) if _is_noun(sentence, at) else at
        if end > at:
            words = tuple(sentence[at:end])
            yield Candidate(
                words, is_sure=len(words) > 1 or is_rare(sentence[at].text, "es"), is_typical=True
            )
        at = max(end, at + 1)


def _phrase_end(sentence: Sequence[Token], at: int) -> int:
    end = _behind_adjectives(sentence, at)
    while (
        end + 1 < len(sentence)
        and end - at + 2 <= _MAX_WORDS
        and sentence[end].text == "de"
        and _is_noun(sentence, end + 1)
    ):
        end = _behind_adjectives(sentence, end + 1)
    if sentence[at].text in lists().es_heads and end > at:
        return at
    return end


def _behind_adjectives(sentence: Sequence[Token], noun: int) -> int:
    """The place behind a noun and the adjective that may follow it."""
    at = noun + 1
    return at + 1 if at < len(sentence) and _is_adjective(sentence, noun) else at


def _is_noun(sentence: Sequence[Token], at: int) -> bool:
    said, before = sentence[at].text, sentence[at - 1].text.casefold()
    if not _is_small(sentence[at]) or before not in lists().es_openers:
        return False
    if before in _PRONOUNS and _VERB.search(said) and _is_object(sentence, at):
        return False
    return before in _ARTICLES or not _INFINITIVE.search(said)


def _is_object(sentence: Sequence[Token], at: int) -> bool:
    """Whether what stands before a word is no article but its object, as in "la empeoran"."""
    behind = sentence[at + 1].text if at + 1 < len(sentence) else "."
    return not behind.isalpha() or behind in lists().es_objects


def _is_adjective(sentence: Sequence[Token], noun: int) -> bool:
    token, said = sentence[noun + 1], sentence[noun].text
    if not _is_small(token) or _VERB.search(token.text):
        return False
    ending = _AGREEING.search(token.text)
    agrees = ending is None or (token.text.endswith("s") == said.endswith("s"))
    if _ADJECTIVE.search(token.text) and agrees:
        return not _takes_object(sentence, noun + 1)
    return bool(ending) and _ending(said) == _ending(token.text) and not _takes_object(sentence, noun + 1)


def _takes_object(sentence: Sequence[Token], at: int) -> bool:
    """Whether a word in -a or -e is a verb by what follows it: "confirma el", not "roja."."""
    behind = sentence[at + 1].text if at + 1 < len(sentence) else "."
    return sentence[at].text.endswith(("a", "e")) and (behind in lists().es_objects or behind[0].isdigit())


def _ending(said: str) -> str:
    found = _AGREEING.search(said)
    return found[0] if found else ""


def _is_small(token: Token) -> bool:
    said = token.text
    if said.endswith("mente"):
        return False
    return token.is_word and said.islower() and len(said) >= _MIN_LETTERS and said not in stop_words("es")


# Concepts without a language model: keyphrases, ranked over their document, and sentences that say them.

VERSION = "8"
"""Another one finds other concepts in the same text."""
MAX_LABEL_LENGTH = 200
MAX_QUOTE_LENGTH = 1000
QUOTES = 3
"""Sentences of a source that are kept for a concept."""
_OPENING = re.compile(r"(?:[*_~]{1,3}|[>|#]+\s+)(?=\w)")
_CLOSING = re.compile(r"(?<=[\w.!?)])[*_~]{1,3}$")
_PART = 100_000
"""Characters of a document that are ranked together; a longer one is ranked in parts of whole sources."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Sources that are ranked together, and what was found in each."""

    key: tuple[tuple[str, str, tuple[SourceBlock, ...]], ...]
    concepts: dict[str, tuple[ExtractedConcept, ...]]
    """By source."""


class KeyphraseExtractor:
    """Names, noun phrases and words that a document says again and again."""

    def __init__(self, per_source: int) -> None:
        """Find at most so many concepts in a source."""
        self._per_source = per_source
        self._last = _Part((), {})

    @property
    def name(self) -> ExtractorName:
        return "keyphrase"

    @property
    def mark(self) -> str:
        """A short hash of all that decides over what it finds."""
        return digest("keyphrase", VERSION, str(self._per_source))[:12]

    def extract(
        self, due: Sequence[SourceText], document: Sequence[SourceText], about: DocumentAbout
    ) -> list[Extraction]:
        """Find the concepts of some sources; what is found does not depend on how many are due at once."""
        del about
        wanted = {each.source_id for each in due}
        found: dict[str, tuple[ExtractedConcept, ...]] = {}
        for part in _parts(document):
            if not wanted.isdisjoint(each.source_id for each in part):
                found |= self._read(part)
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

    def _read(self, part: Sequence[SourceText]) -> dict[str, tuple[ExtractedConcept, ...]]:
        """What was found last is kept: the next batch is of the same document, most of the time."""
        key = tuple((each.source_id, each.content_hash, each.blocks) for each in part)
        last = self._last  # a job that was lost may still be reading, in a thread of its own
        if key != last.key:
            last = self._last = _Part(key, find(part, self._per_source))
        return last.concepts


def find(sources: Sequence[SourceText], per_source: int) -> dict[str, tuple[ExtractedConcept, ...]]:
    """Find the concepts of sources that are ranked together, by source."""
    read = list(_read_sentences(sources))
    language = language_of(token.text for _, _, words in read for token in words if token.is_word)
    lines = [words for _, _, words in read]
    mentions = [
        Mention(source, span, phrase)
        for (source, span, words), kinds in zip(read, kinds_of(lines, language), strict=True)
        for phrase in _phrases(words, kinds, language)
        if phrase.end - phrase.start <= MAX_LABEL_LENGTH
    ]
    spaceless = list(spaceless_phrases(lines))
    mentions += [Mention(*read[each.sentence][:2], each.phrase) for each in spaceless]
    mentions += _code_mentions(sources, [(at, span) for at, span, _ in read])
    mentions += _block_mentions(sources, frozenset(each.phrase.keys for each in mentions))
    mentions.sort(key=lambda each: (each.source, each.phrase.start))
    count = sum(token.is_word for words in lines for token in words)
    weights = weigh(lines, language)
    for each in spaceless:
        weights |= each.weights
    by_source = _by_source(rank(mentions, weights, language, count))
    return {
        each.source_id: tuple(_choose(by_source.get(at, []), each.full_text, per_source))
        for at, each in enumerate(sources)
    }


def _parts(document: Sequence[SourceText]) -> Iterator[list[SourceText]]:
    part: list[SourceText] = []
    size = 0
    for each in document:
        if part and size + len(each.full_text) > _PART:
            yield part
            part, size = [], 0
        part.append(each)
        size += len(each.full_text)
    if part:
        yield part


def _read_sentences(
    sources: Sequence[SourceText],
) -> Iterator[tuple[int, tuple[int, int], list[Token]]]:
    for at, source in enumerate(sources):
        for sentence in sentences(source.full_text, source.blocks):
            yield at, (sentence.start, sentence.end), tokens(sentence)


def _phrases(words: Sequence[Token], kinds: Sequence[Kind], language: str) -> Iterator[Candidate]:
    found = candidates(words, kinds, language)
    if language != "es":
        yield from found
        return
    yield from (each for each in found if each.words[0].is_capital)
    yield from spanish_phrases(words)


def _code_mentions(
    sources: Sequence[SourceText], spans: Sequence[tuple[int, tuple[int, int]]]
) -> Iterator[Mention]:
    """Names that sentences mark as code."""
    for at, (start, end) in spans:
        for begin, stop, sure in names_in_text(sources[at].full_text[start:end]):
            yield Mention(
                at, (start, end), _code_name(sources[at].full_text, start + begin, start + stop, sure)
            )


def _block_mentions(sources: Sequence[SourceText], known: frozenset[tuple[str, ...]]) -> Iterator[Mention]:
    """Names within blocks of code, of what the text speaks about."""
    for at, source in enumerate(sources):
        for start, end in code_lines(source.full_text, source.blocks):
            for begin, stop in names_in_code(source.full_text[start:end]):
                found = _code_name(source.full_text, start + begin, start + stop, sure=False)
                if found.keys in known:
                    yield Mention(at, (start, end), found)


def _code_name(text: str, start: int, end: int, sure: bool) -> Candidate:
    return Candidate((Token(text[start:end], start, end, is_word=True),), is_sure=sure, is_typical=False)


def _by_source(ranked: Sequence[RankedPhrase]) -> dict[int, list[tuple[RankedPhrase, list[Mention]]]]:
    """For each source its concepts, the best first, each with its mentions there."""
    found: defaultdict[int, list[tuple[RankedPhrase, list[Mention]]]] = defaultdict(list)
    for each in ranked:
        there: defaultdict[int, list[Mention]] = defaultdict(list)
        for mention in each.mentions:
            there[mention.source].append(mention)
        for source, mentions in there.items():
            found[source].append((each, mentions))
    return found


def _choose(
    ranked: Sequence[tuple[RankedPhrase, Sequence[Mention]]], text: str, most: int
) -> Iterator[ExtractedConcept]:
    """The best of those in a source; what another one says whole is left out."""
    taken: list[frozenset[str]] = []
    for each, mentions in ranked:
        if len(taken) == most:
            return
        if not any(each.words < words for words in taken):
            taken.append(each.words)
            yield ExtractedConcept(
                each.label,
                _quotes(mentions, text),
                confidence=round(1 / (1 + each.weight), 3),
                forms=each.others,
            )


def _quotes(mentions: Sequence[Mention], text: str) -> tuple[Quote, ...]:
    spans = dict.fromkeys(_without_marks(*_span(each, text), text) for each in mentions)
    return tuple(Quote(text[start:end], start, end) for start, end in list(spans)[:QUOTES])


def _without_marks(start: int, end: int, text: str) -> tuple[int, int]:
    """A span without Markdown's marks at its edges that close or open nothing within it."""
    marks = _OPENING.match(text, start, end)
    if marks and (marks[0][-1] not in "*_~" or text.count(marks[0].strip(), start, end) % 2):
        start = marks.end()
    marks = _CLOSING.search(text[start:end])
    if marks and text.count(marks[0].strip(), start, end) % 2:
        end = start + marks.start()
    return start, end


def _span(mention: Mention, text: str) -> tuple[int, int]:
    """The sentence; of one that is very long, what stands around the phrase."""
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
