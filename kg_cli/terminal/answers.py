"""How an answer of the service leaves a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kg_cli.terminal.connect import open_client

if TYPE_CHECKING:
    from pydantic import BaseModel

    from kg_api.client import KgClient

T = TypeVar("T", bound="BaseModel")


def emit(answer: T, render: Callable[[T], None], *, as_json: bool) -> None:
    """Print an answer for people, or for programs as it came."""
    from kg_cli.terminal.console import print_json

    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        render(answer)


def report(ask: Callable[[KgClient], T], render: Callable[[T], None], *, as_json: bool) -> T:
    """Ask the service once, print its answer as `emit` does, and give it."""
    with open_client() as client:
        answer = ask(client)
    emit(answer, render, as_json=as_json)
    return answer
