"""Signing in with a key, and out again."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.access.sessions import end_session, open_session
from kg_api.access.token import SessionToken
from kg_api.bootstrap import Container
from kg_api.web.access.door import Doorkeeper, note_access
from kg_api.web.access.pace import SignInRate
from kg_api.web.access.session import drop_cookies, keep_cookie, sent_session
from kg_api.web.dependencies import Open
from kg_api.web.ui.rendering import render
from kg_api.web.ui.sign_in import LOGIN, LOGOUT, NOT_KEPT, page_to_show

WRONG: Final = 401
Next = Annotated[str, Query(alias="next")]

router = APIRouter(include_in_schema=False)


@router.get(LOGIN)
def sign_in_page(request: Request, then: Next = "") -> HTMLResponse:
    """Ask for a key."""
    return _form(page_to_show(request, then))


@router.post(LOGIN)
async def sign_in(
    request: Request,
    container: Open,
    key: Annotated[str, Form()] = "",
    then: Annotated[str, Form(alias="next")] = "",
) -> Response:
    """Open a session where the key is good, and show the page that was asked for."""
    rate: SignInRate = request.app.state.sign_in_rate
    address = request.client.host if request.client else ""
    rate.begin(address)
    token = await _open(request, container, key.strip())
    if token is None:
        return _form(page_to_show(request, then), WRONG)
    rate.succeed(address)
    await _end(request, container)
    response = RedirectResponse(page_to_show(request, then), 303, NOT_KEPT)
    drop_cookies(request, response)
    keep_cookie(request, response, token)
    return response


@router.post(LOGOUT)
async def sign_out(request: Request, container: Open) -> Response:
    """End the session."""
    await _end(request, container)
    response = RedirectResponse(LOGIN, 303, {**NOT_KEPT, "Clear-Site-Data": '"cache"'})
    drop_cookies(request, response)
    return response


def _form(then: str, status: int = 200) -> HTMLResponse:
    return render("session/page.html", {"then": then, "is_wrong": status == WRONG}, status)


async def _open(request: Request, container: Container, key: str) -> SessionToken | None:
    """None where the key is no good."""
    door: Doorkeeper = request.app.state.door
    access = await door.owner_of_key(request.scope, key)
    if access is None:
        return None
    token = await run_in_threadpool(open_session, container.graph, access.key_id)
    if token is not None:
        note_access(request.scope, access)
    return token


async def _end(request: Request, container: Container) -> None:
    """End the session that the browser has, if any."""
    door: Doorkeeper = request.app.state.door
    if token := sent_session(request.scope):
        await run_in_threadpool(end_session, container.graph, token)
        door.forget(token)
