import asyncio
from types import SimpleNamespace
from typing import cast

import pytest
from fastapi import Request

from kg_api.access.keys import Access, KeyCheck, KeyToken, make_session_token, make_token, parse_session_token
from kg_api.errors import RateExceeded, Unauthorized
from kg_api.settings import load_settings
from kg_api.web.app import create_app
from kg_api.web.shared.security import MAX_FAILED_SIGN_INS, MAX_WRONG_KEYS, Authenticator, sign_in_limit
from kg_api.web.ui.sign_in import choose_page


@pytest.fixture(scope="module")
def request_() -> Request:
    return Request({"type": "http", "app": create_app(load_settings(), lambda _: None)})


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example", "//evil.example/ui", "https://evil.example/ui", "https:/ui",
        "javascript:alert(1)", "/\\evil.example", "\\\\evil.example", "/ui\\@evil.example", "/ui/\\evil",
        "http:ui", "evil/ui", "/ui\r\nSet-Cookie: a=b", "/ui\n", "\t/ui", " /ui", "/ui /x", "/ui/../keys",
        "/ui/%2e%2e/keys", "/uid", "/keys", "/docs", "/ui/login", "/ui/logout", "", "ui", "/ui/\u00e9",
        "/ui?" + "a" * 9000, "//[/ui", "http://[/ui", "///ui/search", "///ui/", "////ui",
    ],
)  # fmt: skip
def test_redirects_stay_within_the_pages(request_: Request, wanted: str) -> None:
    assert choose_page(request_, wanted) == "/ui/search"


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ("/ui/ontologies/a%20b/language?x=1", "/ui/ontologies/a%20b"),
        ("/ui/jobs/ff/cancel", "/ui/jobs"),
        ("/ui/proposals/ff/accept", "/ui/proposals"),
        ("/ui/nowhere/else", "/ui"),
    ],
)
def test_unreachable_page_redirects_to_its_parent(request_: Request, wanted: str, shown: str) -> None:
    assert choose_page(request_, wanted) == shown


def test_session_hides_its_secret_and_form_tokens() -> None:
    token, other = make_session_token(), make_session_token()
    assert parse_session_token(token.text) == token
    assert token.text not in repr(token)
    assert token.has_csrf_token(token.csrf_token)
    csrf = ("", "\u00e9", "\ud800", token.text, token.secret_hash, other.csrf_token, token.csrf_token.upper())
    assert not any(map(token.has_csrf_token, csrf))
    cut = token.text[1:]
    for text in ("", cut, f"{token.text}a", make_token().text, f"{token.text}\n", f"{cut}%"):
        assert parse_session_token(text) is None


def test_failed_sign_ins_are_counted_by_address() -> None:
    rate = sign_in_limit()
    for n in range(MAX_FAILED_SIGN_INS):
        rate.hit(f"2001:db8::{n}")
    with pytest.raises(RateExceeded, match=r"try again in \d+ s") as told:
        rate.hit("2001:db8::ffff")
    assert 1 <= told.value.retry_after_seconds <= 60
    for address in ("2001:db8:0:1::1", "192.0.2.1", "192.0.2.2", ""):
        rate.hit(address)
    rate.forget("2001:db8::1")
    rate.hit("2001:db8::ffff")


def test_accepted_key_survives_wrong_keys_of_its_address() -> None:
    """The key is no longer in the cache of the last seconds."""
    good, wrong = make_token(), make_token()
    access = Access("ada", "read")
    check = SimpleNamespace(
        get_cached=lambda _: None,
        was_accepted=lambda token: token == good,
        look_up=lambda token: access if token == good else None,
    )
    authenticator = Authenticator(cast("KeyCheck", check), lambda: None)

    async def identify(token: KeyToken) -> Access | None:
        headers = [(b"authorization", f"Bearer {token.text}".encode())]
        return await authenticator.identify({"type": "http", "client": ("192.0.2.1", 1), "headers": headers})

    async def identify_all() -> Access | None:
        for _ in range(MAX_WRONG_KEYS):
            with pytest.raises(Unauthorized):
                await identify(wrong)
        with pytest.raises(RateExceeded, match="wrong keys"):
            await identify(wrong)
        return await identify(good)

    assert asyncio.run(identify_all()) == access
