"""Answers to questions with citations, the passages that go with a text; and how good answers are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.transport.answers import unwrap_event, whole_answer
from kg_api.client.transport.call import body_of, delete, get, post
from kg_api.client.transport.connection import MAX_THINKING_SECONDS
from kg_api.schemas.answers import Answered, AnswerEvent, AnswerRequest, Augmented, AugmentRequest, Statement
from kg_api.schemas.documents import Message
from kg_api.schemas.evaluation import Comparison, EvalResult, EvalSummaries, ResultDeleted
from kg_api.schemas.filters import AnyOf, Condition
from kg_api.schemas.vocabulary import SearchMode


class AsyncAnsweringMethods(AsyncSending):
    """What is built on searches."""

    async def augment(
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
    ) -> Augmented:
        """Find the passages that go with a text or a conversation, as records and as a context block.

        The options are those of AugmentRequest. Messages have author, text and, if known, timestamp.
        """
        return await self._send(post(Augmented, "queries", "augment", json=body_of(AugmentRequest, locals())))

    async def answer(
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
    ) -> Answered:
        """Answer a question from passages, with citations, or say why not.

        The options are those of AnswerRequest.
        """
        call = post(AnswerEvent, "queries", "answer", json=body_of(AnswerRequest, locals(), stream=True))
        last: Statement | Answered | None = None
        async for event in self._follow(call, MAX_THINKING_SECONDS):
            last = unwrap_event(event)
        return whole_answer(last)

    async def stream_answer(
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
    ) -> AsyncGenerator[Statement | Answered]:
        """Give the statements of an answer as they are written, at last the whole answer."""
        call = post(AnswerEvent, "queries", "answer", json=body_of(AnswerRequest, locals(), stream=True))
        async for event in self._follow(call, MAX_THINKING_SECONDS):
            yield unwrap_event(event)


class AsyncEvaluationMethods(AsyncSending):
    """Saved results of evaluations."""

    async def evaluations(
        self, ontology: str | None = None, *, offset: int = 0, limit: int = 50
    ) -> EvalSummaries:
        """List what `kg eval run` has saved in the home of the service, the newest first."""
        call = get(EvalSummaries, "evaluations", ontology=ontology, offset=offset, limit=limit)
        return await self._send(call)

    async def evaluation(self, name: str) -> EvalResult:
        """Read a saved result with the scores of each question."""
        return await self._send(get(EvalResult, "evaluations", name))

    async def delete_evaluation(self, name: str) -> ResultDeleted:
        """Delete a saved result with its answers and its picture.

        Raises:
            NotFound: naming the nearest, where there is none of that name.
        """
        return await self._send(delete(ResultDeleted, "evaluations", name))

    async def compare_evaluations(
        self, names: Sequence[str], *, metrics: Sequence[str] | None = None, against: str = "first"
    ) -> Comparison:
        """Compare saved results on the same questions, with paired significance tests.

        `against` is what others are compared with: `first`, `best` in the first measure, or a label.
        """
        chosen = None if metrics is None else [*metrics]
        call = get(Comparison, "evaluations", "compare", name=[*names], metric=chosen, against=against)
        return await self._send(call)
