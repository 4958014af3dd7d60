"""Examples of request bodies, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from fastapi import Body


def example(**fields: Any) -> Any:
    """Declare the body of a request, with an example of its fields."""
    return Body(openapi_examples={"example": {"value": fields}})
