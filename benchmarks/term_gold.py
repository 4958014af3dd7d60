"""Passages whose terms somebody marked by reading (tests/data/terms/README.md), and what of them is found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import Stemmer

from kg_api.extraction.keyphrases import KeyphraseExtractor
from kg_api.graph.vectors import DocumentAbout, SourceText
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.base import hash_content
from kg_api.schemas.concepts import ExtractedConcept

GOLD = Path(__file__).parent.parent / "tests" / "data" / "terms"
_STEMMERS = {"en": "english", "de": "german", "es": "spanish"}
_OPENING, _CLOSING = "⟦⟨", "⟧⟩"
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage without its marks."""

    text: str
    terms: tuple[frozenset[str], ...]
    """The names of each term, in one form."""
    accepted: frozenset[str]
    """Names that are neither looked for nor wrong."""


@dataclass(frozen=True, slots=True)
class MarkedDocument:
    """A file of marked passages."""

    name: str
    about: dict[str, str]
    passages: tuple[Passage, ...]

    @property
    def text(self) -> str:
        """As it is read."""
        return "\n\n".join(each.text for each in self.passages)


@dataclass(frozen=True, slots=True)
class Score:
    """What was found of some passages."""

    terms: int = 0
    found: int = 0
    concepts: int = 0
    right: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.terms + other.terms,
            self.found + other.found,
            self.concepts + other.concepts,
            self.right + other.right,
        )

    @property
    def recall(self) -> float:
        """Share of the terms that were found."""
        return self.found / max(self.terms, 1)

    @property
    def precision(self) -> float:
        """Share of the concepts that are terms."""
        return self.right / max(self.concepts, 1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A passage's score, and what is to be looked at."""

    score: Score
    missed: tuple[str, ...]
    wrong: tuple[str, ...]


def read_gold(folder: Path = GOLD) -> list[MarkedDocument]:
    """All marked documents, in the order of their names."""
    files = sorted(file for file in folder.iterdir() if file.name != "README.md")
    return [_read(file) for file in files]


def score(document: MarkedDocument, per_source: int) -> list[Outcome]:
    """What the extractor finds of a document, passage by passage; it reads the document as a whole."""
    sources = _sources(document)
    found = KeyphraseExtractor(per_source).extract(sources, sources, DocumentAbout(document.name, {}))
    marked = frozenset[str]().union(
        *(names for each in document.passages for names in (each.accepted, *each.terms))
    )
    outcomes, start = list[Outcome](), 0
    for passage in document.passages:
        end = start + len(passage.text)
        concepts = [
            concept
            for source, each in zip(sources, found, strict=True)
            if start <= source.start < end
            for concept in each.concepts
        ]
        outcomes.append(_compare(passage, concepts, marked, document.about["language"]))
        start = end + len("\n\n")
    return outcomes


def fold(name: str, language: str) -> str:
    """One form of a name, whatever its case, hyphens, number and case endings."""
    words = [word.casefold() for word in _WORD.findall(name)]
    stem = Stemmer.Stemmer(_STEMMERS[language]).stemWord
    return " ".join(map(stem, words))


def _read(file: Path) -> MarkedDocument:
    head, *passages = re.split(r"^%%\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    about = dict(re.findall(r"(\w+)=((?:(?!\s\w+=).)+)", head.strip()))
    return MarkedDocument(file.name, about, tuple(_passage(each, about["language"]) for each in passages))


def _passage(marked: str, language: str) -> Passage:
    text = list[str]()
    opened = list[tuple[int, list[str]]]()
    sure, other = list[frozenset[str]](), set[str]()
    for part in re.split(
        rf"([{_OPENING}{_CLOSING}]|=[^{_OPENING}{_CLOSING}]+(?=[{_CLOSING}]))", marked.strip()
    ):
        if part and part in _OPENING:
            opened.append((len(text), []))
        elif part and part in _CLOSING:
            begin, others = opened.pop()
            names = frozenset(fold(name, language) for name in ("".join(text[begin:]), *others))
            if part == _CLOSING[0]:
                sure.append(names)
            else:
                other |= names
        elif opened and part.startswith("="):
            opened[-1][1].extend(part[1:].split("="))
        else:
            text.append(part)
    return Passage("".join(text), tuple(_joined(sure)), frozenset(other))


def _joined(terms: Iterable[frozenset[str]]) -> Iterator[frozenset[str]]:
    """Terms that share a name are one."""
    known: list[frozenset[str]] = []
    for each in terms:
        same = [other for other in known if other & each]
        known = [other for other in known if not other & each] + [each.union(*same)]
    yield from known


def _sources(document: MarkedDocument) -> Sequence[SourceText]:
    if document.about["language"] not in _STEMMERS:
        return _short_sources(document)
    record, _ = to_record(Incoming(ontology="gold", document=document.name, text=document.text))
    return [
        SourceText(
            each.source_id,
            record.document_id,
            each.paragraph,
            tuple(each.heading),
            each.start,
            each.full_text,
            each.content_hash,
            tuple(each.blocks),
        )
        for each in record.sources
    ]


def _short_sources(document: MarkedDocument) -> Sequence[SourceText]:
    """Each passage a source: they say much in few characters, and kg would join some of them."""
    starts = accumulate((len(each.text) + len("\n\n") for each in document.passages), initial=0)
    return [
        SourceText(str(at), document.name, at, (), start, each.text, hash_content(each.text))
        for at, (start, each) in enumerate(zip(starts, document.passages, strict=False))
    ]


def _compare(
    passage: Passage, concepts: Sequence[ExtractedConcept], marked: frozenset[str], language: str
) -> Outcome:
    called = {
        concept.label: {fold(name, language) for name in (concept.label, *concept.forms)}
        for concept in concepts
    }
    names = frozenset[str]().union(*called.values())
    missed = [" = ".join(sorted(term)) for term in passage.terms if not term & names]
    wrong = [label for label, forms in called.items() if not forms & marked]
    counts = Score(
        len(passage.terms), len(passage.terms) - len(missed), len(called), len(called) - len(wrong)
    )
    return Outcome(counts, tuple(missed), tuple(wrong))
