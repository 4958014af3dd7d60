"""Error responses (RFC 9457)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, Field, ValidationError

from kg_api.errors import InvalidInput, KgError, StorageFull, TooBusy, Unavailable
from kg_api.schemas.base import ONTOLOGY_PATTERN, Answer
from kg_api.schemas.operations import KEY_NAME_PATTERN
from kg_api.schemas.spaces import SLUG_PATTERN
from kg_api.wording import pluralize

ModelT = TypeVar("ModelT", bound=BaseModel)

MAX_ERRORS = 20
MAX_DETAIL_CHARACTERS = 2000
NO_ROUTE = "nothing found at"
"""Start of the message for a path without a route, by which a client tells it from an unknown id."""
SOMETHING_WRONG = "Internal error in kg. See the log of the service."
PASSING = frozenset({Unavailable.status, TooBusy.status, StorageFull.status})
"""Statuses of temporary errors. A retry can succeed."""
_BRANCH = re.compile(r"(function-\w+|list|literal)\[.*\]$|constrained-\w+(\[.*\])?$|one$")
"""pydantic's names for the branches of a union, and `one` for a single condition of a filter."""
_PLACES = frozenset({"body", "query", "path", "header"})  # FastAPI's names for the parts of a request
_IN_WORDS = {
    ONTOLOGY_PATTERN: "letters and digits of any script, '_', '-', '.' and inner spaces are allowed. "
    "The first character is a letter, a digit or '_'",
    KEY_NAME_PATTERN: "letters and digits of any script, '_', '-', '.', '@', '+' and inner spaces "
    "are allowed. The first and last characters are letters, digits or '_'",
    SLUG_PATTERN: "lower-case letters, digits and '_' are allowed, 40 at most. The first character "
    "is a letter",
}
_BY_TYPE = {
    "timezone_aware": "add the time zone, such as 2026-03-01T09:30:00+01:00 or 2026-03-01T08:30:00Z",
    **dict.fromkeys(("model_type", "model_attributes_type"), "write a JSON object"),
    "union_tag_invalid": "unknown {discriminator}: {tag!r}. Write {expected_tags}",
    "union_tag_not_found": "{discriminator} is required",
}
_WITH_ITEMS = (list, tuple, dict, set, frozenset)
_STEP = re.compile(r"steps\.(\d+)(?:\.(?=.))?")  # Step in a field path. Paths count from 0, messages from 1.
_ADVICE = {"query_text": ". For a longer text: kg augment, POST /queries/augment"}


class FieldProblem(Answer):
    field: str
    """Path of the field with dots, or `body` for the whole body."""
    message: str

    def __str__(self) -> str:
        if self.field == "body":
            return self.message
        return f"{_STEP.sub(_number_step, self.field)}: {self.message}"


class Problem(Answer):
    """Error as problem+json (RFC 9457)."""

    type: str
    """`urn:kg:` and the name of the error."""
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = Field(default_factory=list[FieldProblem])
    """Problems of the fields of an invalid request."""


def build_problem(error: KgError, errors: Sequence[FieldProblem] = ()) -> Problem:
    return Problem(
        type=f"urn:kg:{error.slug()}",
        title=type(error).__name__,
        status=error.status,
        detail=to_unicode(str(error)[:MAX_DETAIL_CHARACTERS]),
        errors=list(errors),
    )


def to_unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def build_field_problem(errors: Sequence[Any], model: type[BaseModel] | None = None) -> Problem:
    if model is not None:
        explain_unknown_fields(errors, model)
    return build_problem(InvalidInput(describe_problems(errors)), list_field_problems(errors))


def list_field_problems(errors: Sequence[Mapping[str, Any]]) -> list[FieldProblem]:
    """Return pydantic's errors, at most twenty, without the values."""
    return [
        FieldProblem(field=_name_field(each["loc"]), message=_describe_error(each))
        for each in errors[:MAX_ERRORS]
    ]


def describe_problems(errors: Sequence[Mapping[str, Any]]) -> str:
    """Describe all problems in one line, grouped by field. A union has one problem for each branch."""
    fields_by_message: dict[str, list[str]] = {}
    for each in list_field_problems(errors):
        fields_by_message.setdefault(each.field, []).append(each.message)
    problems = (
        FieldProblem(field=field, message=", or: ".join(messages))
        for field, messages in fields_by_message.items()
    )
    return "; ".join(map(str, problems))


def validate(model: type[ModelT], values: Mapping[str, Any]) -> ModelT:
    """Return values as a model. Raise InvalidInput with the names of invalid fields."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        explain_unknown_fields(errors, model)
        raise InvalidInput(describe_problems(errors)) from None


def explain_unknown_fields(errors: Sequence[Any], model: type[BaseModel]) -> None:
    """Add the closest known field, or all of them, to pydantic's errors about unknown fields of the model."""
    for each in errors:
        if each["type"] == "extra_forbidden":
            *path, name = (str(part) for part in each["loc"] if part != "body" and not isinstance(part, int))
            known = _list_fields(model, path)
            if meant := get_close_matches(name, known, 1):
                each["msg"] = f"unknown field. Did you mean {meant[0]!r}?"
            elif known:
                each["msg"] = f"unknown field. Known fields: {', '.join(known)}"


def _list_fields(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """List the fields of the models at a path of fields and tags of unions."""
    models = [model]
    for part in path:
        tagged = [each for each in models if len(models) > 1 and _has_tag(each, part)]
        fields = (each.model_fields[part] for each in models if part in each.model_fields)
        models = tagged or [inner for field in fields for inner in _find_models(field.annotation)]
    return [*dict.fromkeys(name for each in models for name in each.model_fields)]


def _has_tag(model: type[BaseModel], tag: str) -> bool:
    return any(get_args(each.annotation) == (tag,) for each in model.model_fields.values())


def _find_models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in a type such as `list[A | B] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _find_models(each)


def _describe_error(error: Mapping[str, Any]) -> str:
    """Return the message without the name of Python's exception. Explain patterns in words."""
    about: Mapping[str, Any] = error.get("ctx") or {}
    if text := _describe_length(error, about):
        return text
    if text := _IN_WORDS.get(about.get("pattern", "")):
        return text
    text = _BY_TYPE.get(error["type"], "").format_map(about)
    whole = error["type"] != "value_error" and _name_field(error["loc"]) == "body"
    return ("the body: " if whole else "") + (text or str(error["msg"]).removeprefix("Value error, "))


def _describe_length(error: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Return the message about a wrong length, or an empty text for other errors."""
    if "too_" not in error["type"] or error["type"].startswith("bytes_"):
        return ""
    if _counts_items(error, about):
        return _list_message(about)
    if "max_length" in about:
        limit = f"at most {about['max_length']:,} characters are allowed"
        return limit + _ADVICE.get(_name_field(error["loc"]), "")
    if "min_length" in about:
        return f"at least {pluralize(about['min_length'], 'character')} must be given"
    return ""


def _counts_items(error: Mapping[str, Any], about: Mapping[str, Any]) -> bool:
    """Check if the length is that of a list or tuple. pydantic calls some lists "Value"."""
    if error["type"] not in {"too_long", "too_short"}:
        return False
    return about.get("field_type") != "Value" or isinstance(error.get("input"), _WITH_ITEMS)


def _list_message(about: Mapping[str, Any]) -> str:
    limit, least = about.get("max_length"), about.get("min_length")
    if limit is not None:
        return f"give at most {limit:,}"
    return f"give at least {'one' if least == 1 else least}"


def _number_step(step: re.Match[str]) -> str:
    return f"step {int(step[1]) + 1}" + (", " if step[0].endswith(".") else "")


def _name_field(location: Sequence[int | str]) -> str:
    inner = location[1:] if len(location) > 1 and location[0] in _PLACES else location
    names = [str(part)[:100] for part in inner if part != "body" and not _BRANCH.match(str(part))]
    return ".".join(names) or "body"
