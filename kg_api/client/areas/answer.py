"""Answers to questions, with citations."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any

from kg_api.client.call import Call, drop_unset, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.errors import ServiceUnreachable
from kg_api.models.queries.answering import Answered, AnswerEvent, AnswerRequest, Statement

MAX_SILENCE_SECONDS = 120.0
"""Seconds: before the first event a language model may be asked for what to search by."""
_BROKEN = "the answer broke off before its end; ask again"


def stream_answer(question: str, ontology: str | Sequence[str] | None, **options: Any) -> Call[AnswerEvent]:
    """Answer a question, event by event; `options` are the further fields of AnswerRequest."""
    names = ontology if ontology is None or isinstance(ontology, str) else list(ontology)
    asked = drop_unset({"question": question, "ontology": names, **options, "stream": True})
    body = valid(AnswerRequest, asked).model_dump(mode="json", exclude_unset=True)
    return Call("POST", "/queries/answer", AnswerEvent, json=body)


def _unwrap(event: AnswerEvent) -> Statement | Answered:
    told = event.statement or event.answer
    if told is None:
        raise ServiceUnreachable(_BROKEN)
    return told


def _whole(last: Statement | Answered | None) -> Answered:
    if not isinstance(last, Answered):
        raise ServiceUnreachable(_BROKEN)
    return last


class AnswerMethods(Sending):
    """Methods of the synchronous client."""

    def answer(
        self, question: str, *, ontology: str | Sequence[str] | None = None, **options: Any
    ) -> Answered:
        """Answer a question from passages, with citations, or say why not.

        `options` are the further fields of AnswerRequest.
        """
        last: Statement | Answered | None = None
        for event in self.stream_answer(question, ontology=ontology, **options):
            last = event
        return _whole(last)

    def stream_answer(
        self, question: str, *, ontology: str | Sequence[str] | None = None, **options: Any
    ) -> Generator[Statement | Answered]:
        """Give the statements of an answer as they are written, at last the whole answer."""
        for event in self._follow(stream_answer(question, ontology, **options), MAX_SILENCE_SECONDS):
            yield _unwrap(event)


class AsyncAnswerMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def answer(
        self, question: str, *, ontology: str | Sequence[str] | None = None, **options: Any
    ) -> Answered:
        """Answer a question from passages, with citations, or say why not.

        `options` are the further fields of AnswerRequest.
        """
        last: Statement | Answered | None = None
        async for event in self.stream_answer(question, ontology=ontology, **options):
            last = event
        return _whole(last)

    async def stream_answer(
        self, question: str, *, ontology: str | Sequence[str] | None = None, **options: Any
    ) -> AsyncGenerator[Statement | Answered]:
        """Give the statements of an answer as they are written, at last the whole answer."""
        async for event in self._follow(stream_answer(question, ontology, **options), MAX_SILENCE_SECONDS):
            yield _unwrap(event)
