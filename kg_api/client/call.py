"""A call of the REST service, described once for the sync and the async client. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from kg_api.errors import InvalidInput
from kg_api.models.problems import describe_problems

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    params: dict[str, Any] = field(default_factory=dict[str, Any])
    json: Any = None
    data: dict[str, str] | None = None
    files: dict[str, tuple[str, bytes]] | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    accepted: frozenset[int] = frozenset()
    """Error statuses whose body is the answer all the same."""


def path_of(*parts: str) -> str:
    """A path of these parts, each quoted."""
    return "".join(f"/{quote(part, safe='', errors='replace')}" for part in parts)


def params_of(**params: Any) -> dict[str, Any]:
    """Query parameters; what is no Unicode is replaced and so not found, like any other name."""
    return {name: _unicode(value) for name, value in drop_unset(params).items()}


def _unicode(value: Any) -> Any:
    if isinstance(value, list):
        return [_unicode(each) for each in cast("list[Any]", value)]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def drop_unset(options: dict[str, Any]) -> dict[str, Any]:
    """What is not None."""
    return {name: value for name, value in options.items() if value is not None}


def valid(model: type[T], given: dict[str, Any]) -> T:
    """Check a request before it is sent, with the message that the service would give.

    Raises:
        InvalidInput: saying what is wrong with which field.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InvalidInput(describe_problems(error.errors())) from None
