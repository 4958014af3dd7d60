from datetime import UTC, datetime, timedelta

import neo4j
import pytest

from kg_api.access import keys
from kg_api.access.keys import KNOWN_SECONDS, KeyCheck, KeyToken, open_session, parse_token
from kg_api.graph.client import Graph
from kg_api.graph.keys import prune_sessions, read_keys
from kg_api.schemas.operations import ApiKey, KeyRotation, NewKey
from kg_api.transfer.backup import limit_restored_keys
from tests.support.cypher import rows


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def made(graph: Graph) -> KeyToken:
    token = parse_token(keys.create_key(graph, NewKey(name="ada", valid_days=1), "local").key)
    assert token is not None
    return token


def test_revoked_key_is_cached_for_five_seconds(graph: Graph) -> None:
    clock = Clock()
    check, token = KeyCheck(lambda: graph, clock), made(graph)
    assert check.look_up(token) is not None
    keys.revoke_key(graph, "ada")
    clock.now += KNOWN_SECONDS - 0.1
    assert check.get_cached(token) is not None
    clock.now += 0.2
    assert check.get_cached(token) is None, "it is looked up again"
    assert check.look_up(token) is None
    found = check.get_cached(token)
    assert found is not None
    assert found.access is None


def test_a_key_is_not_known_beyond_its_end(graph: Graph, driver: neo4j.Driver) -> None:
    clock = Clock()
    check, token = KeyCheck(lambda: graph, clock), made(graph)
    rows(driver, "MATCH (k:ApiKey) SET k.expires_at = datetime.realtime() + duration({seconds: 3})")
    assert check.look_up(token) is not None
    clock.now += 3.1
    assert check.get_cached(token) is None


def test_replacement_never_extends_a_key(graph: Graph) -> None:
    made(graph)
    (before,) = read_keys(graph)
    keys.rotate_key(graph, "ada", KeyRotation(overlap_hours=48), "local")
    assert [key.expires_at for key in read_keys(graph) if key.key_id == before.key_id] == [before.expires_at]


def test_new_key_is_found_on_lookup(graph: Graph, driver: neo4j.Driver) -> None:
    check, token = KeyCheck(lambda: graph), made(graph)
    rows(driver, "MATCH (k:ApiKey) SET k.key_id = '00000000'")
    assert check.look_up(token) is None
    rows(driver, "MATCH (k:ApiKey) SET k.key_id = $key_id", key_id=token.key_id)
    assert check.look_up(token) is not None
    found = check.get_cached(token)
    assert found is not None
    assert found.access is not None


def test_key_use_is_written_once_a_minute(graph: Graph, driver: neo4j.Driver) -> None:
    token, used = made(graph), "MATCH (k:ApiKey) RETURN toString(k.last_used_at) AS at"
    for _ in range(3):
        KeyCheck(lambda: graph).look_up(token)
    (first,) = rows(driver, used)
    assert first["at"] is not None
    rows(driver, "MATCH (k:ApiKey) SET k.last_used_at = datetime.realtime() - duration('PT2M')")
    KeyCheck(lambda: graph).look_up(token)
    assert rows(driver, used)[0]["at"] > first["at"]


def test_session_ends_with_its_time_or_key(graph: Graph, driver: neo4j.Driver) -> None:
    clock = Clock()
    check, key = KeyCheck(lambda: graph, clock), made(graph)
    for owner in ("PageSession", "ApiKey"):
        session = open_session(graph, key.key_id)
        assert session is not None
        assert (access := check.look_up(session)) is not None
        assert (access.key_id, access.name, access.scope) == (key.key_id, "ada", "read")
        check.forget(session)
        assert check.get_cached(session) is None, "it is looked up again"
        rows(driver, f"MATCH (n:{owner}) SET n.expires_at = datetime.realtime() + duration({{seconds: 3}})")
        assert check.look_up(session) is not None
        clock.now += 3.1
        assert check.get_cached(session) is None
        rows(driver, f"MATCH (n:{owner}) SET n.expires_at = datetime.realtime() - duration({{seconds: 1}})")
        assert check.look_up(session) is None
    assert (prune_sessions(graph), prune_sessions(graph)) == (1, 0), "the one that has not expired stays"
    left = "MATCH (s:PageSession) RETURN duration.inSeconds(s.opened_at, s.expires_at).seconds AS left"
    assert rows(driver, left) == [{"left": 12 * 3600}]


def test_session_needs_a_valid_key_and_ends_the_oldest(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MAX_SESSIONS", 2)
    check, made = KeyCheck(lambda: graph), make(graph, "ada", "bob", days=1)
    opened = [open_session(graph, made[name].key_id) for name in ("bob", "ada", "ada", "ada")]
    assert rows(driver, "MATCH (k:ApiKey) WHERE k.last_used_at IS NULL RETURN k.name") == []
    found = [check.look_up(session) for session in opened if session]
    assert [access and access.name for access in found] == ["bob", None, "ada", "ada"]
    for change in ("k.revoked_at = datetime()", "k.revoked_at = null, k.expires_at = datetime()"):
        rows(driver, f"MATCH (k:ApiKey {{name: 'ada'}}) SET {change}")
        assert open_session(graph, made["ada"].key_id) is None
    assert rows(driver, "MATCH (s:PageSession) RETURN count(s) AS sessions") == [{"sessions": 3}]


def make(graph: Graph, *names: str, days: int | None = None) -> dict[str, ApiKey]:
    for name in names:
        keys.create_key(graph, NewKey(name=name, valid_days=days), "local")
    return {key.name: key for key in read_keys(graph)}


def states(graph: Graph) -> dict[str, str]:
    return {key.name: key.state for key in read_keys(graph)}


def test_keys_stay_revoked_and_expired_as_before(graph: Graph) -> None:
    made = make(graph, "kept", "revoked", "rotated", "newer")
    past = datetime.now(UTC) - timedelta(hours=1)
    current = [
        made["kept"],
        made["revoked"].model_copy(update={"revoked_at": past}),
        made["rotated"].model_copy(update={"expires_at": past}),
    ]
    kept, limited = limit_restored_keys(graph, current)
    assert states(graph) == {"kept": "active", "revoked": "revoked", "rotated": "expired", "newer": "active"}
    assert "revoked (" in kept
    assert "rotated (" in kept
    assert "newer (" in limited
    assert "kept (" not in kept + limited


def test_earlier_end_in_backup_stays(graph: Graph) -> None:
    short = make(graph, "short", days=1)["short"]
    later = [
        short.model_copy(update={"expires_at": each}) for each in (None, datetime(2999, 1, 1, tzinfo=UTC))
    ]
    for current in later:
        limit_restored_keys(graph, [current])
        assert read_keys(graph)[0].expires_at == short.expires_at
    sooner = short.model_copy(update={"expires_at": datetime.now(UTC) + timedelta(hours=1)})
    limit_restored_keys(graph, [sooner])
    [key] = read_keys(graph)
    assert key.expires_at is not None
    assert short.expires_at is not None
    assert key.expires_at < short.expires_at


def test_sessions_end_with_restore(graph: Graph, driver: neo4j.Driver) -> None:
    token = parse_token(keys.create_key(graph, NewKey(name="ada"), "local").key)
    assert token is not None
    open_session(graph, token.key_id)
    limit_restored_keys(graph, None)
    assert rows(driver, "MATCH (s:PageSession) RETURN count(s) AS sessions") == [{"sessions": 0}]
