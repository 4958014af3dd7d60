"""HTTP to a provider: a time-out is for the whole reply, and no redirect is followed.

httpx counts a time-out anew for every piece that comes: a server that sends a byte now and then would hold a
question, or a worker, for ever.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx  # noqa: F401 - OpenAI's SDK looks for it in sys.modules whenever it is used, and takes one half there


def bounded_client(library: Any, **options: Any) -> Any:
    """A client whose read time-out, which every request sets, bounds the reply as a whole.

    Args:
        library: httpx, or httpx2, its successor, which OpenAI's SDK takes clients of.
        options: of its Client.
    """

    class Until(library.SyncByteStream):
        """A reply's body, broken off at a time."""

        def __init__(self, body: Any, until: float, request: Any) -> None:
            self._body = body
            self._until = until
            self._request = request

        def __iter__(self) -> Iterator[bytes]:
            for part in self._body:
                yield part
                if time.monotonic() > self._until:
                    raise library.ReadTimeout("the reply took too long", request=self._request)

        def close(self) -> None:
            self._body.close()

    class Bounded(library.BaseTransport):
        def __init__(self) -> None:
            self._usual: Any = library.HTTPTransport()

        def handle_request(self, request: Any) -> Any:
            begun = time.monotonic()
            response = self._usual.handle_request(request)
            seconds = request.extensions.get("timeout", {}).get("read")
            if seconds is not None:
                response.stream = Until(response.stream, begun + seconds, request)
            return response

        def close(self) -> None:
            self._usual.close()

    return library.Client(transport=Bounded(), follow_redirects=False, **options)
