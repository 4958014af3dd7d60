"""Pages of help, jobs, and sign-in."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import Form, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.access.keys import end_session, open_session
from kg_api.container import Container
from kg_api.graph.jobs import read_jobs_page
from kg_api.schemas.operations import FINISHED
from kg_api.schemas.vocabulary import JobState
from kg_api.web.api import operations
from kg_api.web.shared.dependencies import JobId, Offset, Open
from kg_api.web.shared.routes import Routes
from kg_api.web.shared.scopes import public
from kg_api.web.shared.security import (
    Authenticator,
    MinuteLimit,
    drop_cookies,
    get_client_address,
    get_sent_session,
    keep_cookie,
    read_caller,
)
from kg_api.web.ui.links import address
from kg_api.web.ui.rendering import Named, redirect_to_page, render, wants_part
from kg_api.web.ui.sign_in import LOGIN, LOGOUT, NOT_KEPT, choose_page

pages = Routes()


@pages.get("/ui/help", "read", filtered=True)
def help_page() -> HTMLResponse:
    return render("help/page.html", {})


# Jobs

PAGE_SIZE: Final = 30
RETRIED: Final = frozenset({JobState.FAILED, JobState.CANCELLED, JobState.SUCCEEDED_WITH_ERRORS})


@pages.get("/ui/jobs", "read", filtered=True)
def jobs_page(
    request: Request,
    container: Open,
    state: JobState | Literal[""] = "",
    kind: Annotated[str, Query(max_length=50, pattern="^[a-z_]*$")] = "",
    ontology: Named = "",
    *,
    offset: Offset = 0,
) -> HTMLResponse:
    found, total = read_jobs_page(
        container.graph,
        state=state or None,
        kind=kind or None,
        ontology=ontology or None,
        offset=offset,
        limit=PAGE_SIZE,
    )
    page = {"offset": offset, "limit": PAGE_SIZE, "total": total}
    context = {"jobs": found, "page": page, "state": state, "kind": kind, "ontology": ontology}
    context |= {"here": address("/ui/jobs", state=state, kind=kind, ontology=ontology, offset=offset or None)}
    context |= {"states": list(JobState), "finished": FINISHED, "retried": RETRIED}
    return render("jobs/list.html" if wants_part(request) else "jobs/page.html", context)


@pages.post("/ui/jobs/{job_id}/cancel", "write", "Cancel a job", filtered=True)
def cancel(request: Request, container: Open, job_id: JobId) -> Response:
    return redirect_to_page(request, operations.cancel(container, job_id), "/ui/jobs")


@pages.post("/ui/jobs/{job_id}/retry", "write", "Retry a job", filtered=True)
def retry(request: Request, container: Open, job_id: JobId) -> Response:
    return redirect_to_page(request, operations.retry(container, job_id), "/ui/jobs")


# Sign-in

WRONG: Final = 401
Next = Annotated[str, Query(alias="next")]


@pages.router.get(LOGIN)
@public()
def sign_in_page(request: Request, then: Next = "") -> HTMLResponse:
    return _render_form(choose_page(request, then))


@pages.router.post(LOGIN, summary="Sign in")
@public()
async def sign_in(
    request: Request,
    container: Open,
    key: Annotated[str, Form()] = "",
    then: Annotated[str, Form(alias="next")] = "",
) -> Response:
    rate: MinuteLimit = request.app.state.sign_in_limit
    address = get_client_address(request.scope)
    rate.hit(address)
    door: Authenticator = request.app.state.door
    access = await door.find_key_owner(request.scope, key.strip())
    token = access and await run_in_threadpool(open_session, container.graph, access.key_id)
    if access is None or token is None:
        return _render_form(choose_page(request, then), WRONG)
    read_caller(request.scope).known = access  # the logs show the user
    rate.forget(address)
    await _end_session(request, container)
    response = RedirectResponse(choose_page(request, then), 303, NOT_KEPT)
    drop_cookies(request, response)
    keep_cookie(request, response, token)
    return response


@pages.post(LOGOUT, "read", "Sign out", filtered=True, audited=True)
async def sign_out(request: Request, container: Open) -> Response:
    await _end_session(request, container)
    response = RedirectResponse(LOGIN, 303, {**NOT_KEPT, "Clear-Site-Data": '"cache"'})
    drop_cookies(request, response)
    return response


def _render_form(then: str, status: int = 200) -> HTMLResponse:
    return render("session/page.html", {"then": then, "is_wrong": status == WRONG}, status)


async def _end_session(request: Request, container: Container) -> None:
    """End the session in the browser."""
    door: Authenticator = request.app.state.door
    if token := get_sent_session(request.scope):
        await run_in_threadpool(end_session, container.graph, token)
        door.forget(token)
