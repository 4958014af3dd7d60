"""Ids, names, base classes of requests and answers, one-line texts, and cursors."""

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
from itertools import takewhile
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from kg_api.errors import InvalidInput
from kg_api.normal_form import normalise_text

ID_DIGITS = 32
_BETWEEN_WORDS = re.compile(r"(?<![\w+#])[+#]+|!(?!=)|(?<=\w)-|-(?!\d)|[^\w+#=<>%$@!-]+")
"""Separators between words. Other signs distinguish names: C and C++, P = NP and P != NP, -1 and 1."""


def compute_digest(*parts: str) -> str:
    """Return 32 hexadecimal digits. ("ab", "c") and ("a", "bc") have different digests."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode()).hexdigest()[:ID_DIGITS]


def normalize_document_name(given: str) -> str:
    """Normalize the name in NFC, on one line. macOS and archives write names in NFD."""
    lines = given.splitlines()
    return unicodedata.normalize("NFC", " ".join(lines) if any(lines) else given and " ")


def list_spellings(name: str) -> list[str]:
    return list(dict.fromkeys([name, normalize_document_name(name), unicodedata.normalize("NFD", name)]))


def build_document_id(ontology: str, document: str) -> str:
    return compute_digest("document", ontology, document)


def hash_content(text: str) -> str:
    """Return the hash of a source's text without trailing whitespace."""
    return compute_digest("content", text.rstrip())


def hash_text(preface: str, passages: Iterable[str]) -> str:
    return compute_digest("text", preface, *passages)


def build_source_ids(document: str, hashes: Iterable[str]) -> Iterator[str]:
    """Yield the ids of sources. An id depends on text, not position. Equal paragraphs get a number."""
    seen: Counter[str] = Counter()
    for content in hashes:
        yield compute_digest("source", document, content, str(seen[content]))
        seen[content] += 1


def build_ontology_scope(name: str) -> str:
    """Build the full-text token of an ontology. No analyzer splits it."""
    return "kgo" + compute_digest("ontology", name)


def build_document_scope(identity: str) -> str:
    return "kgd" + identity


def build_alias_scope(alias: str) -> str:
    """Build the full-text token of a document alias. It ignores case and whitespace."""
    return "kga" + compute_digest("alias", " ".join(normalise_text(alias).casefold().split()))


@lru_cache(maxsize=8192)  # each step of writing a batch needs the same names
def normalize_concept_name(label: str) -> str:
    """Normalize a label to compare it, without case, punctuation, and character width."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold()).casefold()
    apart = folded.replace("_", " ")  # first, so that a sign next to an underscore is not next to a letter
    return " ".join(separate_words(_BETWEEN_WORDS, apart).split()) or " ".join(folded.split())


def separate_words(between: re.Pattern[str], text: str) -> str:
    """Replace the separators of words by spaces, but keep the marks of letters (Hindi vowel signs)."""
    return between.sub(" " if text.isascii() else _keep_marks, text)


def _keep_marks(found: re.Match[str]) -> str:
    if not found.string[max(found.start() - 1, 0) : found.start()].isalpha():
        return " "
    marks = "".join(takewhile(_is_mark, found[0]))
    return marks if marks == found[0] else f"{marks} "


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M") and not "\ufe00" <= character <= "\ufe0f"


def build_name_id(ontology: str, label: str) -> str:
    return compute_digest("concept name", ontology, normalize_concept_name(label))


def build_concept_id(ontology: str, label: str) -> str:
    return compute_digest("concept", ontology, normalize_concept_name(label))


def build_concept_text(label: str, description: str, search_terms: Iterable[str]) -> str:
    """Build the text of a concept to embed. Names of code lose their underscores (ADR 29)."""
    names = ", ".join(map(_list_name_words, search_terms))
    return "\n".join(part for part in (_list_name_words(label), description, names) if part)


def _list_name_words(name: str) -> str:
    return name.replace("_", " ").strip() or name


def hash_concept_text(label: str, description: str, search_terms: Iterable[str]) -> str:
    """Compute a hash that changes with the embedded text of the concept."""
    return compute_digest("concept text", build_concept_text(label, description, search_terms))


def build_instance_id(concept: str, source: str, start: int, end: int) -> str:
    return compute_digest("instance", concept, source, str(start), str(end))


def build_relation_id(ontology: str, subject: str, kind: str, target: str, source: str) -> str:
    """Return the id of a relationship. It contains names, so merging concepts does not change it."""
    names = (normalize_concept_name(subject), normalize_concept_name(kind), normalize_concept_name(target))
    return compute_digest("relation", ontology, *names, source)


def build_relation_type_id(ontology: str, kind: str) -> str:
    return compute_digest("relation type", ontology, normalize_concept_name(kind))


def hash_type_text(name: str) -> str:
    return compute_digest("relation type text", name)


def build_proposal_id(ontology: str, kind: str, first: str, second: str) -> str:
    """Return the id of a proposed link between content hashes or concepts in any order."""
    return compute_digest("proposal", ontology, kind, *sorted((first, second)))


def build_judged_question_id(ontology: str, question: str) -> str:
    return compute_digest("judged question", ontology, question)


def build_judgement_id(ontology: str, question: str, source: str) -> str:
    return compute_digest("judgement", ontology, question, source)


def build_community_id(ontology: str, concept_ids: Iterable[str]) -> str:
    """Return the id of a community. A community with the same members gets the same id again."""
    return compute_digest("community", ontology, *sorted(concept_ids))


# Base classes of requests and answers


def require_storable(text: str) -> str:
    """Return the text. Raise ValueError for lone surrogates and U+0000, which Neo4j rejects or damages."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds a lone surrogate, which is not valid Unicode") from None
    if "\x00" in text:
        raise ValueError("holds the character U+0000")
    return text


Text = Annotated[str, AfterValidator(require_storable)]

ONTOLOGY_PATTERN = r"^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_.\- ]*[\p{L}\p{M}\p{N}_.\-])?$"

OntologyName = Annotated[
    str, StringConstraints(max_length=100, pattern=ONTOLOGY_PATTERN), AfterValidator(require_storable)
]
"""Letters and digits of any script, `_`, `-`, `.`, and inner spaces. No `-` or `.` at the start."""

DocumentName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1000),
    AfterValidator(require_storable),
    AfterValidator(normalize_document_name),
]
"""Title, or path in the ingested folder with `/` as separator. Stored in NFC."""

NodeId = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(require_storable)]

Flag = Annotated[bool, Field(strict=True)]

MAX_REFERENCE = 100 + 1 + 1000 + 11  # `ONTOLOGY/DOCUMENT#PARAGRAPH` with the longest names
Called = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_REFERENCE), AfterValidator(require_storable)
]
"""Id, prefix of an id, name, `ONTOLOGY/NAME`, or for a source `ONTOLOGY/DOCUMENT#PARAGRAPH`."""


def require_visible(text: str) -> str:
    """Return the text. Raise ValueError if the text has only whitespace and byte order marks."""
    if not text.replace("\ufeff", "").strip():
        raise ValueError("is blank")
    return text


VISIBLE = (AfterValidator(require_visible), Field(json_schema_extra={"pattern": r"\S"}))
"""Validators for a text with at least one visible character."""


class Body(BaseModel):
    """Request. Unknown fields are errors, so kg never ignores a misspelt filter."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, given: Any) -> Any:
        """Convert 57.0 to 57, because JSON Schema treats 57.0 as an integer."""
        if not isinstance(given, dict):
            return given
        return {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in cast("dict[str, Any]", given).items()
        }


class Answer(BaseModel):
    """Response of the service. Clients ignore unknown fields of other versions."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class Page(Answer):
    total: int = Field(ge=0)
    """Number of items on all pages."""
    offset: int = Field(ge=0)
    limit: int = Field(ge=1)
    notes: list[str] = Field(default_factory=list[str])
    """Reasons for an empty list, such as a field that no document has."""


# One-line texts without invisible characters

_BLANK = {"Cc", "Zl", "Zp"}
"""Control characters and separators of lines and paragraphs. Each becomes a space."""
_UNSEEN = {"Cf", "Cs"}  # format characters, such as direction marks, and surrogates
_TAGS = range(0xE0000, 0xE0080)  # tag characters, some of them unassigned
_JOINERS = "\u200c\u200d"  # Joiners. Between letters, they are part of the spelling, as in Persian and Hindi.


def normalize_spaces(text: str) -> str:
    """Normalize the text with single spaces and without invisible characters."""
    return " ".join((text if text.isprintable() else "".join(_list_visible_characters(text))).split())


def _list_visible_characters(text: str) -> Iterator[str]:
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


# Cursors. A cursor contains a position and a checksum, so kg stores nothing and detects a damaged cursor. It
# grants no rights, so its checksum needs no secret.

DIGEST = 8


def digest_cursors(*parts: str) -> bytes:
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


@dataclass(frozen=True, slots=True)
class CursorForm:
    version: int  # First byte. It differs for each kind and each change of the content.
    given_as: str  # name of the answer's field with the cursor
    may_differ: str = ""  # arguments that may change between two pages, as a part of the error message

    def seal(self, call: bytes, held: bytes) -> str:
        """Return a cursor with the given content for the call with this digest."""
        body = bytes([self.version]) + call + held
        return _encode(body + _compute_checksum(body))

    def unseal(self, text: str, call: bytes) -> bytes:
        """Return the content of a cursor. Raise InvalidInput if it is damaged or belongs to another call."""
        whole = _decode(text)
        body, checksum = whole[:-DIGEST], whole[-DIGEST:]
        if len(body) <= DIGEST or checksum != _compute_checksum(body) or body[0] != self.version:
            raise InvalidInput(
                f"cursor: invalid or changed. Copy the cursor from `{self.given_as}`, or omit it"
            )
        if body[1 : DIGEST + 1] != call:
            raise InvalidInput(
                "cursor: belongs to another request. Repeat the arguments of that "
                f"request{self.may_differ}, or omit the cursor"
            )
        return body[DIGEST + 1 :]


def _encode(whole: bytes) -> str:
    return base64.urlsafe_b64encode(whole).decode().rstrip("=")


def _decode(text: str) -> bytes:
    """Decode the bytes of a cursor, or b"" for a text that `_encode` cannot produce."""
    try:
        whole = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
    return whole if _encode(whole) == text else b""


def _compute_checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=DIGEST, person=b"kg cursor").digest()
