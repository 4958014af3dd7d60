"""What a search could not do, collected while it runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from kg_api.models.queries.search import Degradation, Respelling

Step = Literal["plan", "lanes", "seeds", "concepts", "rank", "page", "context", "find_concepts"]


class Notes:
    """All that an answer gives as `degraded`, in the order of the steps, whichever was done first.

    A step that is done again says anew what it could not do. Steps may run side by side.
    """

    def __init__(self) -> None:
        self._of: dict[Step, list[Degradation]] = {}
        self.respelt: list[Respelling] = []
        """Words that no text has, and what was looked for as well."""

    def record(self, step: Step, degradations: Iterable[Degradation]) -> None:
        """Note what a step could not do, and what was done instead."""
        self._of[step] = list(degradations)

    @property
    def all(self) -> list[Degradation]:
        return [each for step in get_args(Step) for each in self._of.get(step, ())]

    @property
    def unique(self) -> list[Degradation]:
        """All of them, each once."""
        every = self.all
        return [each for at, each in enumerate(every) if each not in every[:at]]
