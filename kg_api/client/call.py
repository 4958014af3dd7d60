"""A call of the REST service, and what it is made of. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from types import NoneType
from typing import Any, Generic, TypeVar, cast, get_args
from urllib.parse import quote

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from kg_api.errors import InvalidInput
from kg_api.models.library.documents import DocumentUpload
from kg_api.models.problems import describe_problems

T = TypeVar("T", bound=BaseModel)


class Unset(Enum):
    """That an option was not given, where None says something too."""

    UNSET = "unset"


UNSET = Unset.UNSET


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

    @property
    def parts(self) -> dict[str, Any]:
        """What httpx is given besides method and path."""
        return {
            "params": self.params,
            "json": self.json,
            "data": self.data,
            "files": self.files,
            "headers": self.headers,
        }


def path_of(*parts: str) -> str:
    """A path of these parts, each quoted."""
    return "".join(f"/{quote(part, safe='', errors='replace')}" for part in parts)


def params_of(**params: Any) -> dict[str, Any]:
    """Query parameters; what is no Unicode is replaced and so not found, like any other name."""
    return {name: _unicode(value) for name, value in params.items() if value is not None}


def _unicode(value: Any) -> Any:
    if isinstance(value, list):
        return [_unicode(each) for each in cast("list[Any]", value)]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def body_of(request: type[BaseModel], /, **given: Any) -> dict[str, Any]:
    """A request as JSON: what is not as the service has it by itself.

    None leaves a field to the service too, unless the field can be None.
    """
    fields = request.model_fields
    asked = {name: value for name, value in given.items() if value is not None or _takes_none(fields[name])}
    return valid(request, asked).model_dump(mode="json", exclude_defaults=True)


def _takes_none(field_: FieldInfo) -> bool:
    return NoneType in get_args(field_.annotation)


def change_of(request: type[BaseModel], /, **given: Any) -> dict[str, Any]:
    """A change as JSON: all that was given, None too."""
    asked = {name: value for name, value in given.items() if value is not UNSET}
    return valid(request, asked).model_dump(mode="json", exclude_unset=True)


def form_of(**about: Any) -> dict[str, str]:
    """What is said of a file, as fields of a form."""
    fields = body_of(DocumentUpload, **about)
    return {name: json.dumps(value) if name == "metadata" else value for name, value in fields.items()}


def valid(model: type[T], given: dict[str, Any]) -> T:
    """Check a request before it is sent, with the message that the service would give.

    Raises:
        InvalidInput: saying what is wrong with which field.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InvalidInput(describe_problems(error.errors())) from None
