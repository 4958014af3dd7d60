# Written by scripts/unasync.py from ../asynchronous/review.py; change that, not this.
"""Documents that wait until somebody approves them."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.client.call import body_of, get, post
from kg_api.client.sync.sending import Sending
from kg_api.models.library.review import Approval, Approved, Rejected, Review, WaitingDocuments


class ReviewMethods(Sending):
    """What waits for approval."""

    def waiting(self, ontology: str | None = None, *, offset: int = 0, limit: int = 100) -> WaitingDocuments:
        """List documents that were sent with `review` and wait for approval, one page at a time."""
        return self._send(get(WaitingDocuments, "waiting", ontology=ontology, offset=offset, limit=limit))

    def approve(
        self,
        *,
        ontology: str,
        documents: Sequence[str] | None = None,
        all: bool = False,  # noqa: A002 - the field's name
        after: str | None = None,
    ) -> Approved:
        """Store documents that wait, by their names; with `all` a portion: `next` is the next `after`."""
        return self._send(post(Approved, "waiting", "approve", json=body_of(Approval, locals())))

    def reject(
        self,
        *,
        ontology: str,
        documents: Sequence[str] | None = None,
        all: bool = False,  # noqa: A002 - the field's name
    ) -> Rejected:
        """Let documents wait no more, by their names or, with `all`, up to 1,000 a request."""
        return self._send(post(Rejected, "waiting", "reject", json=body_of(Review, locals())))
