"""Errors as the service tells them (RFC 9457)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from kg_api.models.base import Answer

MAX_ERRORS = 20
_BRANCH = re.compile(r"(function-\w+|list|constrained-\w+)\[.*\]$")
"""How pydantic names the branches of a union."""


class FieldProblem(Answer):
    """What is wrong with one field of a request."""

    field: str
    """Its name, with dots between the levels; `body` for the body as a whole."""
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class Problem(Answer):
    """An error as problem+json (RFC 9457)."""

    type: str
    """`urn:kg:` and the name of the error."""
    title: str
    status: int
    detail: str
    """What happened, and what to do next."""
    errors: list[FieldProblem] = Field(default_factory=list[FieldProblem])
    """For a request that is not valid: what is wrong, field by field."""


def field_problems(errors: Sequence[Mapping[str, Any]]) -> list[FieldProblem]:
    """The errors that pydantic found, the first twenty; the values themselves are not repeated."""
    return [
        FieldProblem(field=_field(each["loc"]), message=_message(each["msg"])) for each in errors[:MAX_ERRORS]
    ]


def _message(text: str) -> str:
    """Without the name of Python's exception."""
    return text.removeprefix("Value error, ")


def _field(location: Sequence[int | str]) -> str:
    names = [str(part)[:100] for part in location if part != "body" and not _BRANCH.match(str(part))]
    return ".".join(names) or "body"
