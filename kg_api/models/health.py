"""Health and readiness."""

from __future__ import annotations

from pydantic import Field

from kg_api.models.base import Answer


class Health(Answer):
    """The process answers."""

    status: str = "ok"
    version: str
    instance: str | None = None
    """The home that it serves, as an id that grants nothing."""
    notes: list[str] = Field(default_factory=list[str])
    """What is wrong around it, such as a full disk."""


class Check(Answer):
    """One part of the service."""

    name: str
    ok: bool
    detail: str


class Readiness(Answer):
    """Whether every part answers."""

    ready: bool
    waiting_for: str | None = None
    """The first part that does not."""
    checks: list[Check] = Field(default_factory=list[Check])


class Start(Answer):
    """What this service is and where to go."""

    name: str = "kg"
    description: str
    version: str
    ready: bool
    waiting_for: str | None = None
    """What it waits for, while it is not ready."""
    links: dict[str, str]
    """Addresses, and what is there."""
