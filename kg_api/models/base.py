"""What all request and answer bodies share."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from kg_api.models.identity import document_name


def storable(text: str) -> str:
    """Refuse what Neo4j would refuse or store silently.

    Raises:
        ValueError: the text holds a lone surrogate or U+0000.
    """
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
    """Refuse what has nothing to see in it, by any dialect's idea of a blank.

    Raises:
        ValueError: the text is blank.
    """
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
        fields = cast("dict[str, Any]", given)
        whole = {
            name: int(value)
            for name, value in fields.items()
            if isinstance(value, float) and value.is_integer()
        }
        return {**fields, **whole} if whole else fields


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
