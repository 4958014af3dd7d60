"""Answers to questions with citations, and the passages that go with a text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

from kg_api.client.answers import unwrap_event, whole_answer
from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.call import Call, body_of
from kg_api.client.connection import MAX_THINKING_SECONDS
from kg_api.models.library.conversations import Message
from kg_api.models.queries.answering import Answered, AnswerEvent, AnswerRequest, Statement
from kg_api.models.queries.augment import Augmented, AugmentRequest
from kg_api.models.vocabulary import SearchMode


class AsyncAnsweringMethods(AsyncSending):
    """What is built on searches."""

    async def augment(
        self,
        text: str | None = None,
        *,
        messages: Sequence[Message | dict[str, Any]] | None = None,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
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
    ) -> Augmented:
        """Find the passages that go with a text or a conversation, as records and as a context block.

        The options are those of AugmentRequest. Messages have author, text and, if known, timestamp.
        """
        body = body_of(
            AugmentRequest,
            text=text,
            messages=messages,
            ontology=ontology,
            documents=documents,
            mode=mode,
            chunk_tokens=chunk_tokens,
            overlap_tokens=overlap_tokens,
            one_query_tokens=one_query_tokens,
            whole=whole,
            per_piece=per_piece,
            min_similarity=min_similarity,
            per_document=per_document,
            limit=limit,
            mmr_lambda=mmr_lambda,
            deduplicate=deduplicate,
            exact=exact,
            token_budget=token_budget,
        )
        return await self._send(Call("POST", "/queries/augment", Augmented, json=body))

    async def answer(
        self,
        question: str,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        mode: SearchMode = "hybrid",
        limit: int = 8,
        min_similarity: float | None = None,
        rerank: bool = False,
        hyde: int | Literal["auto"] = 0,
        concepts: bool = False,
        window_size: int = 1,
        token_budget: int = 6000,
    ) -> Answered:
        """Answer a question from passages, with citations, or say why not.

        The options are those of AnswerRequest.
        """
        last: Statement | Answered | None = None
        async for event in self.stream_answer(
            question,
            ontology=ontology,
            documents=documents,
            mode=mode,
            limit=limit,
            min_similarity=min_similarity,
            rerank=rerank,
            hyde=hyde,
            concepts=concepts,
            window_size=window_size,
            token_budget=token_budget,
        ):
            last = event
        return whole_answer(last)

    async def stream_answer(
        self,
        question: str,
        *,
        ontology: str | Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        mode: SearchMode = "hybrid",
        limit: int = 8,
        min_similarity: float | None = None,
        rerank: bool = False,
        hyde: int | Literal["auto"] = 0,
        concepts: bool = False,
        window_size: int = 1,
        token_budget: int = 6000,
    ) -> AsyncGenerator[Statement | Answered]:
        """Give the statements of an answer as they are written, at last the whole answer."""
        body = body_of(
            AnswerRequest,
            question=question,
            ontology=ontology,
            documents=documents,
            mode=mode,
            limit=limit,
            min_similarity=min_similarity,
            rerank=rerank,
            hyde=hyde,
            concepts=concepts,
            window_size=window_size,
            token_budget=token_budget,
            stream=True,
        )
        call = Call("POST", "/queries/answer", AnswerEvent, json=body)
        async for event in self._follow(call, MAX_THINKING_SECONDS):
            yield unwrap_event(event)
