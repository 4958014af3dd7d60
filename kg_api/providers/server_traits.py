"""Properties of an embedding server that only its replies show: how much it takes, and in which form."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

log = structlog.get_logger()

_BOUND = (
    r"at most|no more than|more than|larger than|greater than|less than or equal to|exceed\w*|max\w*|limit\w*"
    r"|up to|<=|最大|不得超过|不能超过"
)
_NUMBER = r"(\d[\d,_]*)"
_NAMED = re.compile(
    rf"(?:{_BOUND})\D{{0,40}}?{_NUMBER}|{_NUMBER}(?=\D{{0,12}}(?:max|limit|or fewer|or less))"
)
"""A limit as servers name it: "at most 32 items", "batch size 65 > maximum allowed batch size 32"."""
_OF_A_REQUEST = re.compile(r"\b(?:batch|request|total|overall|combined|all (?:texts|inputs))\b")
_OF_A_TEXT = re.compile(r"context length|context size|context window|input is too (?:long|large)")


@dataclass
class ServerTraits:
    """What the process has learned of one model at one address. Thread-safe."""

    address: str
    model: str
    batch_setting: str
    """Environment variable for the number of texts per request."""
    max_texts: int | None = None
    max_tokens: int | None = None
    takes_base64: bool = True
    sends_dimensions: dict[int, bool] = field(default_factory=dict[int, bool])
    """Whether `dimensions` is sent for vectors of a size, where the usual way did not work."""
    learning: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)
    """Held while a rejected request is divided, so that one thread finds the limit for all of them."""

    def learn_named_limit(self, message: str, sizes: Sequence[int]) -> bool:
        """Read a limit from a server's words on a request of texts with so many tokens each.

        Returns:
            Whether the request is over a limit that was read, so that smaller ones may pass.
        """
        said = message.casefold()
        numbers = (found[1] or found[2] for found in _NAMED.finditer(said))
        named = sorted((int(re.sub("[,_]", "", each)) for each in numbers), reverse=True)
        if "token" in said:
            if not _OF_A_REQUEST.search(said) or _OF_A_TEXT.search(said):
                return False
            limit = next((each for each in named if max(sizes) <= each < sum(sizes)), None)
            if limit is not None:
                self.learn(max_tokens=limit)
            return limit is not None
        limit = next((each for each in named if 1 <= each < len(sizes)), None)
        if limit is not None:
            self.learn(max_texts=limit)
        return limit is not None

    def learn(self, *, max_texts: int | None = None, max_tokens: int | None = None) -> None:
        """Remember a limit of one request, and log the setting that spares the rejected requests."""
        with self.learning:
            known = (self.max_texts, self.max_tokens)
            self.max_texts = min(filter(None, (self.max_texts, max_texts)), default=None)
            self.max_tokens = min(filter(None, (self.max_tokens, max_tokens)), default=None)
            if (self.max_texts, self.max_tokens) != known:
                log.warning("embedding server has a smaller limit", notes=self.notes)

    def learn_form(self, size: int, *, base64: bool, sends_dimensions: bool) -> None:
        """Remember the parameters with which the server returned vectors of a size."""
        if (self.takes_base64, self.sends_dimensions.get(size)) == (base64, sends_dimensions):
            return
        self.takes_base64 = base64
        self.sends_dimensions[size] = sends_dimensions
        log.info("embedding server takes requests in another form", notes=self.notes)

    @property
    def notes(self) -> list[str]:
        """What was learned, in sentences that name the setting."""
        told = list[str]()
        if self.max_texts is not None:
            told.append(
                f"{self.address} accepts at most {self.max_texts} texts per request; "
                f"set {self.batch_setting}={self.max_texts} to spare the rejected ones"
            )
        if self.max_tokens is not None:
            told.append(
                f"{self.address} accepts at most {self.max_tokens:,} tokens per request; "
                f"a lower {self.batch_setting} spares the rejected ones"
            )
        if not self.takes_base64:
            told.append(f"{self.address} does not return base64; kg requests plain numbers")
        for size, is_sent in self.sends_dimensions.items():
            parameter = "with" if is_sent else "without"
            told.append(f"{self.address} returns {size} dimensions of {self.model} {parameter} `dimensions`")
        return told


_known: dict[tuple[str, str], ServerTraits] = {}


def traits_of(address: str, model: str, batch_setting: str) -> ServerTraits:
    """Get the record of a model at an address; all embedders of the process share it."""
    return _known.setdefault((address, model), ServerTraits(address, model, batch_setting))


def list_learned() -> list[str]:
    """List what the process has learned of all servers."""
    return [note for each in list(_known.values()) for note in each.notes]
