"""What a provider says is repeated without what it was sent (A9)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from kg_api.providers.openai_chat import CHAT
from kg_api.providers.remote_embedding import EMBEDDING
from kg_api.providers.remote_rerank import RERANKING
from kg_api.providers.retrying import (
    QUOTED,
    ErrorReply,
    Provider,
    Service,
    Variables,
    classify,
    detail,
    redact,
)

KEY = "canary-5d41402abc4b2a76"
SENTENCE = 'The patient Jörg Müller was told "go home" on the 3rd of May.'
PASSAGE = f"Report of the day.\n\n{SENTENCE}\nNobody else came."
SENT = ["Some other text that is sent along with it.", PASSAGE, "Kürbis"]
SECRETS = ("patient", "Jörg", "J\\u00f6rg", "Müller", "go home", "3rd of May", "5d41402abc4b2a76")


@pytest.mark.parametrize(
    "message",
    [
        f"input refused: {SENTENCE}",
        f"input refused: {SENTENCE.upper()}",
        f"input refused: {json.dumps(SENTENCE)}",
        f"input refused: {json.dumps(json.dumps(PASSAGE))}",
        "input refused: " + SENTENCE.replace(" ", "\n   "),
        "input refused: " + SENTENCE[3:40] + "...",
        "input refused: 'patient Jörg Müller was'",
        "input refused: the patient Jo\u0308rg Mu\u0308ller was told",
        f"input refused: {SENTENCE[:-20]} and more",
        f"input refused: the key is {KEY}",
        f"input refused: the key is ...{KEY[-14:]}",
    ],
)
def test_a_quotation_is_struck_out_and_the_rest_is_told(message: str) -> None:
    said = redact(message, key=SecretStr(KEY), sent=SENT)
    assert [secret for secret in SECRETS if secret.lower() in said.lower()] == []
    assert said.startswith("input refused: ")
    assert "***" in said


def test_a_short_text_is_struck_out_as_a_word_alone() -> None:
    assert redact("no kürbis here, kürbisse are", key=None, sent=SENT) == "no *** here, kürbisse are"
    assert redact("a batch of texts", key=None, sent=["b"]) == "a batch of texts"


def test_words_of_its_own_are_kept() -> None:
    own = "This model's maximum context length is 8192 tokens, however you requested 9000"
    assert detail(own, key=SecretStr(KEY), sent=SENT) == f" ({own})"
    assert detail("", key=SecretStr(KEY), sent=SENT) == detail(SENTENCE, key=SecretStr(KEY), sent=SENT) == ""


@given(st.text(min_size=1, max_size=400), st.integers(0, 400), st.integers(QUOTED, 80))
def test_no_run_of_what_was_sent_is_left(text: str, at: int, length: int) -> None:
    piece = text[at : at + length]
    said = redact(f"refused: {piece} !", key=None, sent=[text])
    letters = "".join(each for each in said.casefold() if each.isalnum())
    sent = "".join(each for each in text.casefold() if each.isalnum())
    runs = [letters[i : i + QUOTED] for i in range(len(letters) - QUOTED + 1)]
    assert [run for run in runs if run in sent] == []


def provider_of(service: Service) -> Provider:
    return Provider(service, Variables("M", "A", "K"), "m", "http://host", SecretStr(KEY))


@pytest.mark.parametrize("service", [EMBEDDING, RERANKING, CHAT], ids=lambda each: each.name)
def test_all_three_kinds_of_providers_say_it_harmlessly(service: Service) -> None:
    told = f"I do not take: {SENTENCE} ({KEY})"
    provider = provider_of(service)
    error = classify(ErrorReply(400, {}, told), provider, SENT)
    shown = f"{provider!r} {provider} {error!r} {error} {service.own_error(error)}"
    assert [secret for secret in (*SECRETS, KEY) if secret in shown] == []
    assert "I do not take: ***" in str(service.own_error(error))
