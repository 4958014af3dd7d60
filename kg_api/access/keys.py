"""Making, replacing and revoking keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from kg_api.access.token import make_token
from kg_api.errors import Conflict, NotFound
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.keys.stored import (
    StoredKey,
    expire_key,
    life_of,
    lock_keys,
    put_key,
    read_keys,
    revoke_stored,
)
from kg_api.models.keys import ApiKey, CreatedKey, KeyRotation, NewKey, key_id_in

_DAY = int(timedelta(days=1).total_seconds())
_HOUR = int(timedelta(hours=1).total_seconds())

LAST = (
    "this is the last key that is good for everything, and without it only a command on the machine of the "
    "service makes another: make one first (`kg admin keys create NAME --scope admin`), or revoke it all the "
    "same with --force"
)


def create_key(graph: Graph, asked: NewKey, created_by: str) -> CreatedKey:
    """Make a key; its secret is in the answer alone.

    Raises:
        Conflict: a key that can be used has that name.
    """
    token = make_token()
    wanted = None if asked.ontologies is None else sorted(set(asked.ontologies))
    about = (token.key_id, token.secret_hash, asked.name, asked.scope, wanted, created_by)
    new = StoredKey(*about, valid_seconds=_life(asked))

    def work(tx: Transaction) -> ApiKey:
        lock_keys(tx)
        keys = read_keys(tx)
        return _by_id(keys, new.key_id) or _put_first(tx, keys, new)

    return _with_secret(graph.transaction(work), token.text)


def rotate_key(graph: Graph, called: str, asked: KeyRotation, created_by: str) -> CreatedKey:
    """Make a key that replaces one, which stays good for a while, so that nobody is locked out.

    Raises:
        NotFound: no key is called so.
        Conflict: it cannot be used any more, was replaced already, or several are called so.
    """
    token = make_token()

    def work(tx: Transaction) -> ApiKey:
        lock_keys(tx)
        keys = read_keys(tx)
        if made := _by_id(keys, token.key_id):  # the answer of the commit was lost
            return made
        old = _rotatable(keys, called)
        life = life_of(tx, old.key_id) if asked.valid_days is None else _life(asked)
        heir = (token.key_id, token.secret_hash, old.name, old.scope, old.ontologies, created_by, life)
        expire_key(tx, old.key_id, round(asked.overlap_hours * _HOUR))
        return _put(tx, StoredKey(*heir, replaces=old.key_id))

    return _with_secret(graph.transaction(work), token.text)


def revoke_key(graph: Graph, called: str, *, but_the_last: bool = False) -> ApiKey:
    """Make a key worth nothing from now on; to do it twice is no error.

    Args:
        graph: where keys are.
        called: its id or name.
        but_the_last: leave the last one that administers all of kg.

    Raises:
        NotFound: no key is called so.
        Conflict: several are, or it is that last one.
    """

    def work(tx: Transaction) -> ApiKey:
        lock_keys(tx)
        keys = read_keys(tx)
        key = find_called(keys, called)
        if but_the_last and _administrators(keys) == [key.key_id]:
            raise Conflict(LAST)
        revoke_stored(tx, key.key_id)
        return _by_id(read_keys(tx), key.key_id) or key

    return graph.transaction(work)


def _administrators(keys: Sequence[ApiKey]) -> list[str]:
    """Ids of the keys that can be used and are good for everything."""
    usable = (each for each in keys if each.state == "active" and each.ontologies is None)
    return [each.key_id for each in usable if each.scope == "admin"]


def find_called(keys: Sequence[ApiKey], called: str) -> ApiKey:
    """The key of an id, or the one of a name: of several the one that can be used.

    Raises:
        NotFound: there is none.
        Conflict: there are several.
    """
    called = key_id_in(called)
    if by_id := _by_id(keys, called):
        return by_id
    found = [each for each in keys if each.name == called]
    found = _usable(found, called) or found
    if not found:
        raise _unknown(called)
    if len(found) > 1:
        told = ", ".join(map(_describe, found))
        raise Conflict(f"{len(found)} keys are called {called!r}: say which by its id, {told}")
    return found[0]


def ids_called(keys: Sequence[ApiKey], called: str) -> list[str]:
    """The id of a key, or those of all keys that have or had a name: one that replaces another has the same.

    Raises:
        NotFound: there is none.
    """
    called = key_id_in(called)
    found = [each.key_id for each in keys if called in {each.key_id, each.name}]
    if not found:
        raise _unknown(called)
    return found


def _unknown(called: str) -> NotFound:
    return NotFound(f"there is no key {called!r}; `kg admin keys list` shows them")


def _put_first(tx: Transaction, keys: Sequence[ApiKey], new: StoredKey) -> ApiKey:
    if _usable(keys, new.name):
        raise Conflict(
            f"a key that can be used is called {new.name!r} already: take another name, or "
            "`kg admin keys rotate` or `revoke` that one first"
        )
    return _put(tx, new)


def _put(tx: Transaction, new: StoredKey) -> ApiKey:
    put_key(tx, new)
    return next(each for each in read_keys(tx) if each.key_id == new.key_id)


def _describe(key: ApiKey) -> str:
    what = "revoked" if key.revoked_at else f"until {key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else ""
    replaces = f"replaces {key.replaces}" if key.replaces else ""
    more = ", ".join(filter(None, (replaces, what)))
    return f"{key.key_id} ({more})" if more else key.key_id


def _usable(keys: Sequence[ApiKey], name: str) -> list[ApiKey]:
    return [each for each in keys if each.name == name and each.state == "active"]


def _rotatable(keys: Sequence[ApiKey], called: str) -> ApiKey:
    found = find_called(keys, called)
    if found.state != "active":
        raise Conflict(f"the key {found.key_id} is {found.state}: make a new one with `kg admin keys create`")
    if heirs := [each.key_id for each in keys if each.replaces == found.key_id and each.state == "active"]:
        raise Conflict(f"the key {found.key_id} was replaced by {heirs[0]} already: rotate that one")
    return found


def _life(asked: NewKey | KeyRotation) -> int | None:
    """In seconds; None: for ever."""
    return None if asked.valid_days is None else asked.valid_days * _DAY


def _by_id(keys: Sequence[ApiKey], key_id: str) -> ApiKey | None:
    return next((each for each in keys if each.key_id == key_id), None)


def _with_secret(key: ApiKey, text: str) -> CreatedKey:
    return CreatedKey(**key.model_dump(), key=text)
