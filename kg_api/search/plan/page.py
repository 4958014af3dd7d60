"""Pages of a search: each one gives what those before it have not given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from kg_api.errors import InvalidInput
from kg_api.models.cursors import DIGEST, CursorForm, digest
from kg_api.models.queries.search import SourceSearch
from kg_api.models.vocabulary import MAX_PAGED_HITS

_FORM = CursorForm(2, "next_cursor")
MARK = 5
"""Bytes that stand for a hit in a cursor. In the longest walk two are taken for one once in a million."""


@dataclass(frozen=True, slots=True)
class HitPage:
    """Which page of a search is wanted.

    A cursor says which hits were given, not how many: so none comes twice, and none is passed over, also
    where the order is not quite the same again (vectors of a remote model differ in their last digits).
    """

    call: bytes = bytes(DIGEST)
    """The digest of what is asked."""
    given: frozenset[bytes] = frozenset()
    """What the pages before gave."""
    may_follow: bool = True
    """Whether further pages can be asked for."""

    def gave(self, identity: str) -> bool:
        """Whether a page before this one had a hit."""
        return bool(self.given) and self._mark(identity) in self.given

    def next_cursor(self, identities: Iterable[str]) -> str:
        """The cursor behind this page.

        Args:
            identities: what this page gives.
        """
        marks = self.given.union(map(self._mark, identities))
        return _FORM.seal(self.call, b"".join(sorted(marks)))

    def _mark(self, identity: str) -> bytes:
        return hashlib.blake2b(identity.encode(), digest_size=MARK, salt=self.call).digest()


def read_page(request: SourceSearch, *, concepts_alone: bool) -> HitPage:
    """The page that a request asks for.

    Raises:
        InvalidInput: its cursor is damaged, belongs to another search, or leads too deep.
    """
    call = digest(f"{concepts_alone}", request.model_dump_json(exclude={"cursor"}))
    may_follow = request.hyde == 0
    if request.cursor is None:
        return HitPage(call, may_follow=may_follow)
    held = _FORM.unseal(request.cursor, call)
    given = frozenset(held[at : at + MARK] for at in range(0, len(held), MARK))
    if len(given) + request.limit > MAX_PAGED_HITS:
        raise InvalidInput(
            f"cursor: {len(given):,} hits were given, and pages go no deeper than {MAX_PAGED_HITS:,}; narrow "
            "the search by ontology, documents or where, or ask more exactly"
        )
    return HitPage(call, given, may_follow=may_follow)
