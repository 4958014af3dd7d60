"""What is built on searches: passages that go with a text, and answers to questions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Response
from fastapi.openapi.models import Example

from kg_api.access.narrowing import narrowed
from kg_api.models.problems import Problem
from kg_api.models.queries.answering import Answered, AnswerEvent, AnswerRequest
from kg_api.models.queries.augment import Augmented, AugmentRequest
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import StrictRoute
from kg_api.web.openapi import event_stream
from kg_api.web.routes.queries.answer_stream import AnswerStream

router = APIRouter(tags=["search"], route_class=StrictRoute)

TEXTS: dict[str, Example] = {
    "a text": {
        "value": {"text": "The worker lost its lease while it was embedding.", "ontology": "handbook"}
    },
    "a conversation, within a budget": {
        "value": {
            "messages": [
                {"author": "Ada", "text": "How often is the lease renewed?"},
                {"author": "Bob", "text": "Every ten seconds, I think."},
            ],
            "limit": 3,
            "token_budget": 2000,
            "deduplicate": True,
        }
    },
}


@router.post("/queries/augment", summary="Find passages relevant to a text or a conversation")
def augment(container: Open, request: Annotated[AugmentRequest, Body(openapi_examples=TEXTS)]) -> Augmented:
    """Cut a text into pieces, search for each, and give the best passages as records and as a context block.

    `counts` tells how many each step left out, `degraded` what could not be done.
    """
    return container.augment.augment(narrowed(container.graph, request))


QUESTIONS: dict[str, Example] = {
    "a question": {"value": {"question": "How often does a worker renew its lease?", "ontology": "handbook"}},
    "streamed, from the best of what is near enough": {
        "value": {
            "question": "What happens when a worker loses its lease?",
            "limit": 4,
            "min_similarity": 0.6,
            "rerank": True,
            "stream": True,
        }
    },
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; with `stream` Server-Sent Events, the data of each is an "
        "AnswerEvent, or of `error` a Problem.",
        "content": {
            "text/event-stream": event_stream(
                {"statement": AnswerEvent, "end": AnswerEvent, "error": Problem}
            )
        },
    }
}


@router.post(
    "/queries/answer",
    summary="Answer a question from passages, with citations",
    response_model=Answered,
    responses=ANSWERS,
)
def answer(
    container: Open, request: Annotated[AnswerRequest, Body(openapi_examples=QUESTIONS)]
) -> Answered | Response:
    """Search, show the best passages to the language model, and give the statements that it proves by quotes.

    Each citation is a span of a source that was shown; a statement without one is left out and counted. When
    no passage is similar enough there is a `refusal`, and the language model is not asked. 422: there is no
    language model (KG_LLM__MODEL). With `stream`: `statement` events, then `end`, or `error`, whose data is a
    problem document; a comment comes every 10 s.
    """
    request = narrowed(container.graph, request)
    if request.stream:
        return AnswerStream(container.answer.begin(request))
    return container.answer.answer(request)
