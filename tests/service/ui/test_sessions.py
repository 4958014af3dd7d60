from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import neo4j
import pytest
from playwright.sync_api import Browser, expect

from kg_api.access import keys
from kg_api.access.keys import KNOWN_SECONDS
from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.keys import prune_sessions
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.operations import CreatedKey, KeyRotation, NewKey
from kg_api.web.shared.security import HTTPS, MAX_FAILED_SIGN_INS
from tests.neo4j_server import Neo4jServer
from tests.support.browsing import browser, cookie_of, session_of, sign_in, signed_in, token_in
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.running import Service, serve, wait_until

SESSIONS = "MATCH (s:PageSession)-[:OPENED_WITH]->(k:ApiKey) RETURN properties(s) AS session, k.name AS key"


@pytest.fixture
def key(graph: Graph) -> CreatedKey:
    ensure_space(graph, small_embedder().identity)  # as the service did when it started
    return keys.create_key(graph, NewKey(name="ada", scope="admin"), "local")


@pytest.fixture
def nobody(guarded: Service) -> Iterator[httpx.Client]:
    with browser(guarded) as client:
        yield client


@pytest.fixture
def ada(guarded: Service, key: CreatedKey) -> Iterator[httpx.Client]:
    with signed_in(guarded, key.key) as client:
        yield client


def is_in(client: httpx.Client) -> bool:
    answer = client.get("/ui/search")
    assert answer.status_code in {200, 303}, answer.text
    return answer.status_code == 200


def test_sign_in_opens_pages_and_passages(
    nobody: httpx.Client, key: CreatedKey, driver: neo4j.Driver
) -> None:
    asked = nobody.get("/ui/search?q=owl&where=a%3D1")
    assert (asked.status_code, asked.headers["location"]) == (
        303, "/ui/login?next=%2Fui%2Fsearch%3Fq%3Dowl%26where%3Da%253D1",
    )  # fmt: skip
    form = nobody.get(asked.headers["location"])
    assert 'name="next" value="/ui/search?q=owl&amp;where=a%3D1"' in form.text
    assert "Sign out" not in form.text
    answer = sign_in(nobody, f" {key.key}\n", next="/ui/search?q=owl&where=a%3D1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/search?q=owl&where=a%3D1")
    page = nobody.get(answer.headers["location"])
    assert page.status_code == 200
    assert "ada" in page.text
    assert f'hx-headers=\'{{"X-CSRF-Token": "{token_in(page)}"}}\'' in page.text
    assert nobody.get("/keys").json()["keys"][0]["name"] == "ada", "reading is as with the key itself"
    stored = rows(driver, SESSIONS)
    assert [each["key"] for each in stored] == ["ada"]
    assert session_of(nobody) not in str(stored)


def test_cookie_is_restricted_and_contains_no_key(nobody: httpx.Client, key: CreatedKey) -> None:
    name, plain = cookie_of(nobody), sign_in(nobody, key.key).headers["set-cookie"]
    assert re.fullmatch(
        rf"{name}=[A-Za-z0-9_-]{{43}}; HttpOnly; Max-Age=43200; Path=/; SameSite=strict", plain
    )
    for headers in (
        {"X-Forwarded-Proto": "https"},
        {"Origin": str(nobody.base_url).replace("http:", "https:")},
    ):
        answer = nobody.post("/ui/login", data={"key": key.key}, headers=headers)
        kept = answer.headers.get_list("set-cookie")[-1]
        assert re.fullmatch(
            rf"{HTTPS}{name}=[A-Za-z0-9_-]{{43}}; HttpOnly; Max-Age=43200; Path=/; SameSite=strict; Secure",
            kept,
        )
        assert key.key[12:] not in str(answer.headers)
        token = kept.partition("=")[2].partition(";")[0]
        https = {"X-Forwarded-Proto": "https"}
        with httpx.Client(base_url=nobody.base_url) as other:
            for begins, status in ((HTTPS, 200), ("", 303)):
                got = other.get("/ui/search", headers={"Cookie": f"{begins}{name}={token}", **https})
                assert got.status_code == status, "by https others may have set what has the plain name"


def test_invalid_key_does_not_sign_in(
    guarded: Service, graph: Graph, key: CreatedKey, nobody: httpx.Client, driver: neo4j.Driver
) -> None:
    made = {each: keys.create_key(graph, NewKey(name=each), "local").key for each in ("expired", "revoked")}
    keys.rotate_key(graph, "expired", KeyRotation(overlap_hours=0), "local")
    keys.revoke_key(graph, "revoked")
    guessed = key.key[:20] + key.key[20:].swapcase()
    answers = [sign_in(nobody, each) for each in ("", "kg_wrong", "a" * 5000, guessed, *made.values())]
    assert [each.status_code for each in answers] == [401] * 6
    assert len({each.text for each in answers}) == 1, "it tells nobody how near they were"
    assert "wrong, expired, or revoked" in answers[0].text
    assert not any("set-cookie" in each.headers for each in answers)
    assert rows(driver, SESSIONS) == []
    for each in (guessed, *made.values()):
        assert each[12:] not in guarded.output()
    assert f'"claimed_key": "{made["revoked"][3:11]}"' in guarded.output()


def test_repeated_sign_in_attempts_are_limited_per_client(
    nobody: httpx.Client, guarded: Service, key: CreatedKey
) -> None:
    sign_in(nobody, key.key)
    tried = [sign_in(nobody, f"kg_{n:08x}_" + "a" * 43) for n in range(MAX_FAILED_SIGN_INS + 1)]
    assert [each.status_code for each in tried] == [401] * MAX_FAILED_SIGN_INS + [429]
    assert 1 <= int(tried[-1].headers["retry-after"]) <= 60
    assert tried[-1].headers["content-type"].startswith("text/html")
    assert sign_in(nobody, key.key).status_code == 429
    with signed_in(guarded, key.key) as other:
        assert is_in(other)


def test_a_session_ends_with_its_key_within_seconds(
    ada: httpx.Client, guarded: Service, graph: Graph, key: CreatedKey
) -> None:
    assert is_in(ada)
    with KgClient(guarded.url, api_key=key.key) as kg:
        other = kg.create_key("bob", scope="read").key
    with signed_in(guarded, other) as bob:
        assert is_in(bob)
        keys.rotate_key(graph, "bob", KeyRotation(overlap_hours=0), "local")
        keys.revoke_key(graph, key.key_id)
        wait_until(lambda: not (is_in(bob) or is_in(ada)), KNOWN_SECONDS + 3)
        assert ada.get("/keys").status_code == 401
        answer = ada.post("/ui/logout", data={"csrf_token": "x"})
        assert answer.headers["location"] == "/ui/login?next=%2Fui%2Fsearch"


def test_session_expires_and_is_deleted(ada: httpx.Client, graph: Graph, driver: neo4j.Driver) -> None:
    ((left,),) = rows_of(
        driver, "MATCH (s:PageSession) RETURN duration.inSeconds(s.opened_at, s.expires_at).seconds"
    )
    assert left == 12 * 3600
    rows(driver, "MATCH (s:PageSession) SET s.expires_at = datetime.realtime() - duration('PT1S')")
    assert not is_in(ada)
    assert (prune_sessions(graph), prune_sessions(graph)) == (1, 0)
    assert rows(driver, SESSIONS) == []


def rows_of(driver: neo4j.Driver, statement: str) -> list[tuple[object, ...]]:
    return [tuple(each.values()) for each in rows(driver, statement)]


def test_sign_out_ends_the_session_and_is_audited(
    ada: httpx.Client, guarded: Service, key: CreatedKey, driver: neo4j.Driver
) -> None:
    token = session_of(ada)
    answer = ada.post("/ui/logout", data={"csrf_token": token_in(ada.get("/ui/search"))})
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert rows(driver, SESSIONS) == []
    with browser(guarded) as kept:
        kept.cookies.set(cookie_of(kept), token)
        assert not is_in(kept)
    with KgClient(guarded.url, api_key=key.key) as kg:
        wait_until(lambda: kg.audit().total >= 2, 20)
        told = kg.audit().entries
    assert [(each.path, each.key_name, each.status) for each in told] == [
        ("/ui/logout", "ada", 303), ("/ui/login", "ada", 303),
    ]  # fmt: skip
    assert key.key not in str(told)
    assert token not in guarded.output()


def test_services_of_one_host_have_separate_cookies(
    guarded: Service, server: Neo4jServer, key: CreatedKey, tmp_path: Path
) -> None:
    """A browser uses the same cookies for all ports of a host."""
    other = serve(server, tmp_path, KG_API__REQUIRE_KEYS="true")
    try:
        with httpx.Client(timeout=60) as person:
            places = [each.url for each in (guarded, other)]
            for place in places:
                assert person.post(f"{place}/ui/login", data={"key": key.key}).status_code == 303
            pages = [person.get(f"{place}/ui/search") for place in places]
            assert [each.status_code for each in pages] == [200, 200]
            token = {"csrf_token": token_in(pages[1])}
            assert person.post(f"{places[1]}/ui/logout", data=token).status_code == 303
            assert [person.get(f"{each}/ui/search").status_code for each in places] == [200, 303]
    finally:
        assert other.stop() == 0, other.output()


def test_who_signs_in_again_has_one_session(ada: httpx.Client, key: CreatedKey, driver: neo4j.Driver) -> None:
    before = session_of(ada)
    assert sign_in(ada, key.key).status_code == 303
    assert session_of(ada) != before
    assert len(rows(driver, SESSIONS)) == 1


def test_number_of_sessions_per_key_is_bounded(
    graph: Graph, key: CreatedKey, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = keys.create_key(graph, NewKey(name="bob"), "local")
    keys.open_session(graph, other.key_id)
    monkeypatch.setattr(keys, "MAX_SESSIONS", 3)
    opened = [keys.open_session(graph, key.key_id) for _ in range(5)]
    stored = {each["session"]["session_hash"] for each in rows(driver, SESSIONS) if each["key"] == "ada"}
    assert stored == {each.secret_hash for each in opened[2:] if each}
    assert len(rows(driver, SESSIONS)) == 4
    keys.revoke_key(graph, "ada")
    assert keys.open_session(graph, key.key_id) is None


def test_rotated_key_continues_without_scripts(browser: Browser, guarded: Service, graph: Graph) -> None:
    ensure_space(graph, small_embedder().identity)  # as the service did when it started
    context = browser.new_context(base_url=guarded.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/ui/concepts?q=owl")
    for name in ("ada", "bob"):
        page.get_by_label("API key").fill(
            keys.create_key(graph, NewKey(name=name, scope="read"), "local").key
        )
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#q")).to_have_value("owl")
        page.reload()
        expect(page.locator("#q")).to_have_value("owl")
        context.clear_cookies()  # without waiting for the seconds that sessions are remembered
        page.reload()
    context.close()
