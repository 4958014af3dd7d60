"""Client methods for answers with citations, and context for a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from kg_api.client.answers import unwrap_event
from kg_api.client.call import MAX_THINKING_SECONDS, Call, Events, build_body, post
from kg_api.client.sending import request, stream
from kg_api.schemas.answers import Answered, AnswerEvent, AnswerRequest, Augmented, AugmentRequest, Statement
from kg_api.schemas.documents import Message
from kg_api.schemas.filters import AnyOf, Condition
from kg_api.schemas.vocabulary import SearchMode


def _answer_events(options: Mapping[str, Any]) -> Events[Statement | Answered]:
    call = post(AnswerEvent, "queries", "answer", json=build_body(AnswerRequest, options, stream=True))
    return Events(call, unwrap_event, silence=MAX_THINKING_SECONDS)


class AnsweringMethods:
    @request
    def augment(
        self,
        text: str | None = None,
        *,
        messages: Sequence[Message | dict[str, Any]] | None = None,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        mode: SearchMode = "hybrid",
        chunk_tokens: int = 1800,
        overlap_tokens: int = 150,
        one_query_tokens: int | None = None,
        whole: bool = False,
        per_piece: int = 5,
        min_similarity: float | None = None,
        per_document: int | None = 1,
        limit: int = 5,
        mmr_lambda: float | None = None,
        deduplicate: bool = False,
        exact: bool = False,
        token_budget: int | None = None,
    ) -> Call[Augmented]:
        """Find passages that are relevant to a text or a conversation, as records and as a context block.

        The options are the fields of AugmentRequest. Messages have author, text and an optional timestamp.
        """
        return post(Augmented, "queries", "augment", json=build_body(AugmentRequest, locals()))

    @request
    def answer(
        self,
        question: str,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        mode: SearchMode = "hybrid",
        limit: int = 8,
        min_similarity: float | None = None,
        rerank: bool = False,
        hyde: int | Literal["auto"] = 0,
        concepts: bool = False,
        window_size: int = 1,
        token_budget: int = 6000,
    ) -> Call[Answered]:
        """Answer a question with citations, or get the reason why this is not possible.

        The options are the fields of AnswerRequest.
        """
        events = _answer_events(locals())
        return replace(events.call, answer=Answered, events=events)

    @stream
    def stream_answer(
        self,
        question: str,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        mode: SearchMode = "hybrid",
        limit: int = 8,
        min_similarity: float | None = None,
        rerank: bool = False,
        hyde: int | Literal["auto"] = 0,
        concepts: bool = False,
        window_size: int = 1,
        token_budget: int = 6000,
    ) -> Events[Statement | Answered]:
        """Yield statements when the model has written them, and then the complete answer."""
        return _answer_events(locals())
