"""Whose vectors cost money."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kg_api.graph.spaces import Space
from kg_api.settings import load_settings
from kg_api.spaces.registry import is_paid
from tests.unit.search.found import SPACE

HERE, THERE = "http://127.0.0.1:11434/v1", "https://models.example/v1"


def space_of(provider: str, model: str) -> Space:
    return replace(SPACE, identity=replace(SPACE.identity, provider=provider, model=model))


@pytest.mark.parametrize(
    ("address", "model", "price", "paid"),
    [
        (THERE, "nomic-embed-text", None, True),
        (HERE, "nomic-embed-text", None, False),
        (HERE, "nomic-embed-text", "0", False),
        (HERE, "nomic-embed-text", "0.1", True),
        (HERE, "text-embedding-3-small", None, True),
    ],
)
def test_a_server_of_this_machine_is_free_unless_its_model_has_a_price(
    monkeypatch: pytest.MonkeyPatch, address: str, model: str, price: str | None, paid: bool
) -> None:
    monkeypatch.setenv("KG_EMBEDDING__PROVIDER", "openai")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    if price:
        monkeypatch.setenv("KG_EMBEDDING__PRICE", price)
    assert is_paid(load_settings(), space_of("openai", model)) is paid


def test_what_is_embedded_in_the_process_is_free() -> None:
    assert not is_paid(load_settings(), space_of("local", "bge-small-en-v1.5"))
