"""What providers are paid for: counted, and bounded for those who have a budget."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol

from kg_api.metrics.meters import meters

CHARACTERS_A_TOKEN: Final = 4
"""Of English, as a rule of thumb; where a provider does not say how many tokens there were."""


class TokenBudget(Protocol):
    """What somebody may spend."""

    def require(self) -> None:
        """See that something is left.

        Raises:
            RateExceeded: saying when there will be.
        """
        ...

    def spend(self, tokens: int) -> None:
        """Count what was spent, be it more than there was."""
        ...


@dataclass
class _Account:
    """What was done for one request, whichever of its threads did it."""

    budget: TokenBudget | None
    model_asked: bool = False


_ACCOUNT: Final[ContextVar[_Account | None]] = ContextVar("account", default=None)


@contextmanager
def within_budget(budget: TokenBudget | None) -> Generator[None]:
    """Let what is done here be spent of a budget; None: there is no bound."""
    token = _ACCOUNT.set(_Account(budget))
    try:
        yield
    finally:
        _ACCOUNT.reset(token)


def note_model_asked() -> None:
    """A language model is asked: that is not done twice for one request."""
    if account := _ACCOUNT.get():
        account.model_asked = True


def was_model_asked() -> bool:
    """Whether a language model was asked for what is done here."""
    account = _ACCOUNT.get()
    return account is not None and account.model_asked


def require_budget() -> None:
    """See that whoever asks may have a provider asked.

    Raises:
        RateExceeded: their budget is used up.
    """
    if (account := _ACCOUNT.get()) and account.budget:
        account.budget.require()


def spend_tokens(kind: str, provider: str, *, read: int, written: int, dollars: float | None) -> None:
    """Count tokens, and what they cost; None: nobody knows."""
    meters().providers.spend(kind, provider, read=read, written=written, dollars=dollars)
    if (account := _ACCOUNT.get()) and account.budget:
        account.budget.spend(read + written)


def estimate_tokens(characters: int) -> int:
    """How many tokens a text of so many characters may have."""
    return -(-characters // CHARACTERS_A_TOKEN)
