"""One saved result, read again. None of this needs the packages of `kg[eval]`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ValidationError

from kg_api.errors import InvalidInput
from kg_api.evaluate.sets.records import text_of
from kg_api.models.evaluation import RESULT_FORMAT, Comparison, EvalResult


class _Form(BaseModel):
    format: int


def read_result(path: Path) -> EvalResult:
    """Read a saved result.

    Raises:
        InvalidInput: the file is not there, is none, or was written by a newer kg.
    """
    text = text_of(path)
    try:
        return parse_result(text)
    except InvalidInput as error:
        raise InvalidInput(f"{path} {error}") from None


def parse_result(text: str) -> EvalResult:
    """Read the text of a result.

    Raises:
        InvalidInput: it is none, or was written by a newer kg; the message goes on behind a name.
    """
    try:
        found = EvalResult.model_validate_json(text)
    except ValidationError as error:
        if _is_newer(text):
            raise _newer() from None
        first = error.errors()[0]
        raise InvalidInput(f"is not a result of `kg eval run`: {first['msg']} ({first['loc']})") from None
    if found.format > RESULT_FORMAT:
        raise _newer()
    if not found.metrics:
        raise InvalidInput("is not a result of `kg eval run`: it has no measures")
    if any(found.metrics.keys() - scores.keys() for scores in found.per_query.values()):
        raise InvalidInput("is not a result of `kg eval run`: a question lacks a measure")
    return found


def is_comparison(text: str) -> bool:
    """Whether it is a comparison, such as `kg eval compare` puts beside results."""
    try:
        Comparison.model_validate_json(text)
    except ValidationError:
        return False
    return True


def _is_newer(text: str) -> bool:
    """Whether it says that a newer kg has written it, which may have other fields."""
    try:
        return _Form.model_validate_json(text).format > RESULT_FORMAT
    except ValidationError:
        return False


def _newer() -> InvalidInput:
    return InvalidInput("was written by a newer kg; compare it with that")
