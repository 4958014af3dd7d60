"""Ids, names and bases of requests and answers, text on one line, and cursors."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from kg_api.errors import InvalidInput
from kg_api.normal_form import normalise_text

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
    return list(dict.fromkeys([name, document_name(name), unicodedata.normalize("NFD", name)]))


def document_id(ontology: str, document: str) -> str:
    return digest("document", ontology, document)


def content_hash(text: str) -> str:
    """Return the hash of what a source says; blanks behind it do not count, those before it do."""
    return digest("content", text.rstrip())


def text_hash(preface: str, passages: Iterable[str]) -> str:
    """Return the hash of a document's text: of its preface and its sources, not of its name."""
    return digest("text", preface, *passages)


def source_ids(document: str, hashes: Iterable[str]) -> Iterator[str]:
    """Yield ids of a document's sources, kept wherever they move; equal paragraphs are counted."""
    seen: Counter[str] = Counter()
    for content in hashes:
        yield digest("source", document, content, str(seen[content]))
        seen[content] += 1


def chunk_id(source: str, start: int, end: int) -> str:
    return digest("chunk", source, str(start), str(end))


def scope_of_ontology(name: str) -> str:
    """One full-text token that stands for an ontology, whatever the analyzer does to names."""
    return "kgo" + digest("ontology", name)


def scope_of_document(identity: str) -> str:
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
    return digest("concept name", ontology, concept_name(label))


def concept_id(ontology: str, label: str) -> str:
    return digest("concept", ontology, concept_name(label))


def concept_text(label: str, description: str, search_terms: Iterable[str]) -> str:
    """Return what is embedded of a concept; names of code without their underscores (ADR 29)."""
    names = ", ".join(map(_words_of_name, search_terms))
    return "\n".join(part for part in (_words_of_name(label), description, names) if part)


def _words_of_name(name: str) -> str:
    return name.replace("_", " ").strip() or name


def concept_text_hash(label: str, description: str, search_terms: Iterable[str]) -> str:
    """Changes when the text of a concept does that is embedded."""
    return digest("concept text", concept_text(label, description, search_terms))


def instance_id(concept: str, source: str, start: int, end: int) -> str:
    return digest("instance", concept, source, str(start), str(end))


def relation_id(ontology: str, subject: str, kind: str, target: str, source: str) -> str:
    """The id of what a source states of two concepts, by their names; merging concepts leaves it as it is."""
    names = (concept_name(subject), concept_name(kind), concept_name(target))
    return digest("relation", ontology, *names, source)


def relation_type_id(ontology: str, kind: str) -> str:
    return digest("relation type", ontology, concept_name(kind))


def type_text_hash(name: str) -> str:
    return digest("relation type text", name)


def proposal_id(ontology: str, kind: str, first: str, second: str) -> str:
    """Return the id of a proposed link by what is linked, in either order: content hashes or concepts."""
    return digest("proposal", ontology, kind, *sorted((first, second)))


def judged_question_id(ontology: str, question: str) -> str:
    return digest("judged question", ontology, question)


def judgement_id(ontology: str, question: str, source: str) -> str:
    return digest("judgement", ontology, question, source)


def community_id(ontology: str, level: int, concept_ids: Iterable[str]) -> str:
    """The id of a community: by its members, so that one that is found again has it again."""
    return digest("community", ontology, str(level), *sorted(concept_ids))


# What all request and answer bodies share.


def storable(text: str) -> str:
    """Raise ValueError for a lone surrogate or U+0000, which Neo4j would refuse or store silently."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds a lone surrogate, which is not valid Unicode") from None
    if "\x00" in text:
        raise ValueError("holds the character U+0000")
    return text


Text = Annotated[str, AfterValidator(storable)]
"""Any text that Neo4j can hold."""

ONTOLOGY_PATTERN = r"^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_.\- ]*[\p{L}\p{M}\p{N}_.\-])?$"

OntologyName = Annotated[
    str, StringConstraints(max_length=100, pattern=ONTOLOGY_PATTERN), AfterValidator(storable)
]
"""Letters and digits of any script, `_`, `-`, `.` and inner spaces; it starts with a letter, digit or `_`."""

DocumentName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1000),
    AfterValidator(storable),
    AfterValidator(document_name),
]
"""A title, or a path below the folder that was ingested, with `/` between its parts; in NFC."""

NodeId = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(storable)]

Flag = Annotated[bool, Field(strict=True)]

Called = Annotated[str, StringConstraints(min_length=1, max_length=1101), AfterValidator(storable)]
"""What something is called by: an id, a beginning of it, or a name, also `ONTOLOGY/NAME`."""


def visible(text: str) -> str:
    """Raise ValueError for a text that is blank, by any dialect's idea of a blank."""
    if not text.replace("\ufeff", "").strip():
        raise ValueError("is blank")
    return text


VISIBLE = (AfterValidator(visible), Field(json_schema_extra={"pattern": r"\S"}))
"""For a text that must not be blank; its description says so."""


class Body(BaseModel):
    """A request: unknown fields are refused, so that a misspelt filter is not silently ignored."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, given: Any) -> Any:
        """Take 57.0 as 57: to JSON Schema it is an integer."""
        if not isinstance(given, dict):
            return given
        return {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in cast("dict[str, Any]", given).items()
        }


class Answer(BaseModel):
    """An answer of the service; clients of another version may see further fields."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class Page(Answer):
    """Where a list goes on."""

    total: int = Field(ge=0)
    """All there are, not only those on this page."""
    offset: int = Field(ge=0)
    limit: int = Field(ge=1)
    notes: list[str] = Field(default_factory=list[str])
    """Why there is nothing, such as a field that no document has."""


# Texts of strangers as one line that shows all it says. Pure.

_BLANK = {"Cc", "Zl", "Zp"}
"""Control characters and ends of lines and paragraphs: they part words."""
_UNSEEN = {"Cf", "Cs"}
"""What formats or turns the direction of text, and halves of characters: nobody sees them."""
_TAGS = range(0xE0000, 0xE0080)
"""Letters that are never shown; some of them are not assigned."""
_JOINERS = "\u200c\u200d"
"""Between letters they belong to the spelling, as in Persian and Hindi."""


def one_line(text: str) -> str:
    """The text with single blanks, without characters that nobody sees."""
    return " ".join((text if text.isprintable() else "".join(_visible_characters(text))).split())


def _visible_characters(text: str) -> Iterator[str]:
    for at, character in enumerate(text):
        kind = unicodedata.category(character)
        if kind in _BLANK:
            yield " "
        elif _is_joiner(text, at) or (kind not in _UNSEEN and ord(character) not in _TAGS):
            yield character


def _is_joiner(text: str, at: int) -> bool:
    return text[at] in _JOINERS and _is_letter(text[at - 1 : at]) and _is_letter(text[at + 1 : at + 2])


def _is_letter(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "LM"


# Cursors as text: sealed, so that a damaged one, or one of another call, is told from a good one.
#
# They say where an answer goes on and nothing else: nothing is kept for them. No rights hang on a cursor, so
# its checksum needs no secret.

DIGEST = 8
"""Bytes of a digest."""


def digest_cursors(*parts: str) -> bytes:
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


@dataclass(frozen=True, slots=True)
class CursorForm:
    """One kind of cursor."""

    version: int
    """Its first byte, another one for each kind, and for each change of what a kind holds."""
    given_as: str
    """Where an answer gives it."""
    may_differ: str = ""
    """What else than the cursor may differ from the call that gave it."""

    def seal(self, call: bytes, held: bytes) -> str:
        """Return a cursor that holds something, for the call with a digest."""
        body = bytes([self.version]) + call + held
        return _encode(body + _checksum(body))

    def unseal(self, text: str, call: bytes) -> bytes:
        """Return what a cursor holds; raise InvalidInput if it is damaged or belongs to another call."""
        whole = _decode(text)
        body, checksum = whole[:-DIGEST], whole[-DIGEST:]
        if len(body) <= DIGEST or checksum != _checksum(body) or body[0] != self.version:
            raise InvalidInput(
                f"cursor: not one that kg gave, or changed on the way; copy it from `{self.given_as}`, or "
                "leave it out"
            )
        if body[1 : DIGEST + 1] != call:
            raise InvalidInput(
                f"cursor: it belongs to another call; repeat that call's arguments{self.may_differ}, or "
                "leave the cursor out"
            )
        return body[DIGEST + 1 :]


def _encode(whole: bytes) -> str:
    return base64.urlsafe_b64encode(whole).decode().rstrip("=")


def _decode(text: str) -> bytes:
    """Empty where it is none; one that is spelt in another way is none, too."""
    try:
        whole = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
    return whole if _encode(whole) == text else b""


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=DIGEST, person=b"kg cursor").digest()
