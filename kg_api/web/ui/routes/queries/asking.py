"""The page of questions that the language model answers from passages, with citations."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Final, get_args

import anyio
import structlog
from anyio.to_thread import run_sync
from fastapi import APIRouter, Form, Query
from fastapi.responses import HTMLResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from kg_api.access.narrowing import narrowed
from kg_api.answer.service import Writing
from kg_api.bootstrap import Container
from kg_api.errors import InvalidInput, KgError
from kg_api.graph.naming.ontologies import names_of_ontologies, searched
from kg_api.models.queries.answering import Answered, AnswerRequest, Statement
from kg_api.models.vocabulary import SearchMode
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.queries.answer_stream import closed_after
from kg_api.web.ui.links import ASK
from kg_api.web.ui.questions import MAX_CHARACTERS, USUAL, WAYS, Question
from kg_api.web.ui.rendering import HEADERS, render, render_pieces

MAX_NAME: Final = 1000
Text = Annotated[str, Query(max_length=MAX_CHARACTERS)]
Name = Annotated[str, Query(max_length=MAX_NAME)]

router = APIRouter(include_in_schema=False)
log = structlog.get_logger()


@router.get(ASK)
def asking_page(container: Open, q: Text = "", ontology: Name = "", mode: SearchMode = USUAL) -> HTMLResponse:
    """Show the form with a question. Nobody is asked: an address is opened again for nothing."""
    question = Question(q, ontology, mode)
    searched(container.graph, [ontology] if ontology else None)
    return render("asking/page.html", _shown(container, question))


@router.post(ASK, response_model=None)
def ask(
    container: Open,
    q: Annotated[str, Form(max_length=MAX_CHARACTERS)] = "",
    ontology: Annotated[str, Form(max_length=MAX_NAME)] = "",
    mode: Annotated[SearchMode, Form()] = USUAL,
) -> HTMLResponse | StreamingResponse:
    """Answer a question; the page comes as its answer is written.

    A redirect to an address of the answer would have to keep the answer, or ask anew whenever it is opened.
    So the answer is that of the form, and a script puts the question's address, which asks nobody, in its
    place: loading it anew shows the form.
    """
    question = Question(q, ontology, mode)
    asked = {"question": q, "ontology": ontology or None, "mode": mode}
    request = narrowed(container.graph, valid(AnswerRequest, asked))
    shown = _shown(container, question)
    if shown["missing"]:
        return render("asking/page.html", shown)
    writing = container.answer.begin(request)
    return AnswerPage(writing, {**shown, "answer": ComingAnswer(writing)})


def _shown(container: Container, question: Question) -> dict[str, object]:
    return {
        "question": question,
        "ontologies": names_of_ontologies(container.graph),
        "ways": {way: name for way, name in WAYS.items() if way in get_args(SearchMode)},
        "missing": _what_is_missing(container),
        "answer": None,
    }


def _what_is_missing(container: Container) -> str | None:
    """What to set for questions to be answered; None: nothing."""
    try:
        container.answer.model_name()
    except InvalidInput as error:
        return str(error)
    return None


@dataclass(slots=True)
class ComingAnswer:
    """An answer as a page shows it: its statements first, then what there is to say of all of it."""

    writing: Writing
    whole: Answered | None = field(default=None, init=False)
    failure: str | None = field(default=None, init=False)
    """Why it has no end: what was sent of the page cannot be taken back."""

    def statements(self) -> Iterator[Statement]:
        """As they are written and proved; then `whole`, or `failure`, is there."""
        try:
            for each in self.writing:
                if isinstance(each, Answered):
                    self.whole = each
                else:
                    yield each
        except KgError as error:
            log.error("answer failed", error=type(error).__name__, detail=str(error))  # noqa: TRY400 - shown
            self.failure = str(error)


class AnswerPage(StreamingResponse):
    """A page with an answer that is being written; whoever goes away ends it."""

    def __init__(self, writing: Writing, shown: dict[str, object]) -> None:
        pieces = render_pieces("asking/page.html", shown)
        super().__init__(_in_own_thread(pieces), headers=HEADERS, media_type="text/html")
        self._writing = writing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it (ASGI)."""
        async with closed_after(self._writing):
            await super().__call__(scope, receive, send)


async def _in_own_thread(pieces: Iterator[str]) -> AsyncGenerator[str]:
    own_thread = anyio.CapacityLimiter(1)  # those of other requests are not held up
    while (piece := await run_sync(next, pieces, None, limiter=own_thread)) is not None:
        yield piece
