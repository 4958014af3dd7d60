"""Ids: hashes of where a thing is and what it says, never of its text alone."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from kg_api.wording.normal_form import normalise_text

ID_DIGITS = 32
_BETWEEN_WORDS = re.compile(r"(?<![\w+#])[+#]+|!(?!=)|(?<=\w)-|-(?!\d)|[^\w+#=<>%$@!-]+")
"""What makes another meaning is kept: C, C++ and C#; P = NP and P != NP; -1 and 1; $5 and 5%."""


def digest(*parts: str) -> str:
    """32 hexadecimal digits; the parts are kept apart, so ("ab", "c") differs from ("a", "bc")."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode()).hexdigest()[:ID_DIGITS]


def document_name(given: str) -> str:
    """A document's name as it is kept: composed (NFC), for macOS and archives write it decomposed."""
    return unicodedata.normalize("NFC", given)


def spellings(name: str) -> list[str]:
    """A name as it is given, as names are kept, and decomposed, as they were kept once."""
    return list(dict.fromkeys([name, document_name(name), unicodedata.normalize("NFD", name)]))


def document_id(ontology: str, document: str) -> str:
    """The id of a document by its name within its ontology."""
    return digest("document", ontology, document)


def content_hash(text: str) -> str:
    """The hash of what a source says; blanks behind it do not count.

    Blanks before it do: offsets of its chunks are counted from its first character.
    """
    return digest("content", text.rstrip())


def text_hash(preface: str, passages: Iterable[str]) -> str:
    """The hash of what a document says, by the content hashes of its sources in reading order.

    Neither its name nor what is said of it counts, but what its text says before its first source.
    """
    return digest("text", preface, *passages)


def source_ids(document: str, hashes: Iterable[str]) -> Iterator[str]:
    """Ids of a document's sources in reading order; equal paragraphs are told apart by their count.

    A paragraph keeps its id, and so its vector and evidence, wherever in the document it moves.
    """
    seen: Counter[str] = Counter()
    for content in hashes:
        yield digest("source", document, content, str(seen[content]))
        seen[content] += 1


def chunk_id(source: str, start: int, end: int) -> str:
    """The id of a chunk by its place in its source."""
    return digest("chunk", source, str(start), str(end))


def scope_of_ontology(name: str) -> str:
    """One full-text token that stands for an ontology, whatever the analyzer does to names."""
    return "kgo" + digest("ontology", name)


def scope_of_document(identity: str) -> str:
    """One full-text token that stands for a document."""
    return "kgd" + identity


def scope_of_alias(alias: str) -> str:
    """One full-text token that stands for an alias of documents; case and blanks do not count."""
    return "kga" + digest("alias", " ".join(normalise_text(alias).casefold().split()))


@lru_cache(maxsize=8192)  # the names of a batch are asked for again and again, by each step of writing it
def concept_name(label: str) -> str:
    """What makes two labels the same name: case, punctuation and the width of characters do not count."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold()).casefold()
    apart = folded.replace("_", " ")  # first, or what stands beside one were taken to stand beside a letter
    return " ".join(_BETWEEN_WORDS.sub(" ", apart).split()) or " ".join(folded.split())


def name_id(ontology: str, label: str) -> str:
    """The id of a name within its ontology."""
    return digest("concept name", ontology, concept_name(label))


def concept_id(ontology: str, label: str) -> str:
    """The id of a concept: by the name that it was first found under."""
    return digest("concept", ontology, concept_name(label))


def concept_text(label: str, description: str, search_terms: Iterable[str]) -> str:
    """What is embedded of a concept; a model that takes less takes its beginning.

    Names of code without their underscores: `__gt__` is near to whatever is asked in some models (ADR 73).
    """
    names = ", ".join(map(_words_of_name, search_terms))
    return "\n".join(part for part in (_words_of_name(label), description, names) if part)


def _words_of_name(name: str) -> str:
    return name.replace("_", " ").strip() or name


def concept_text_hash(label: str, description: str, search_terms: Iterable[str]) -> str:
    """Changes when the text of a concept does that is embedded."""
    return digest("concept text", concept_text(label, description, search_terms))


def instance_id(concept: str, source: str, start: int, end: int) -> str:
    """The id of a quote: whose evidence, and where in its source."""
    return digest("instance", concept, source, str(start), str(end))


def relation_id(ontology: str, subject: str, kind: str, target: str, source: str) -> str:
    """The id of what a source states of two concepts, by their names; merging concepts leaves it as it is."""
    names = (concept_name(subject), concept_name(kind), concept_name(target))
    return digest("relation", ontology, *names, source)


def relation_type_id(ontology: str, kind: str) -> str:
    """The id of a relationship type within its ontology: case and punctuation do not count."""
    return digest("relation type", ontology, concept_name(kind))


def type_text_hash(name: str) -> str:
    """Changes when the text of a relationship type does that is embedded: its name."""
    return digest("relation type text", name)


def proposal_id(ontology: str, kind: str, first: str, second: str) -> str:
    """The id of a link that is proposed: by what is linked, in either order.

    Args:
        ontology: which both are in.
        kind: of what is linked.
        first: the content hash of a source, which stays when its text comes again, or the id of a concept.
        second: of the other.
    """
    return digest("proposal", ontology, kind, *sorted((first, second)))


def judged_question_id(ontology: str, question: str) -> str:
    """The id of a question that passages of an ontology are judged for, as it is kept."""
    return digest("judged question", ontology, question)


def judgement_id(ontology: str, question: str, source: str) -> str:
    """The id of what is thought of a source as an answer to a question."""
    return digest("judgement", ontology, question, source)


def community_id(ontology: str, level: int, concept_ids: Iterable[str]) -> str:
    """The id of a community: by its members, so that one that is found again has it again."""
    return digest("community", ontology, str(level), *sorted(concept_ids))
