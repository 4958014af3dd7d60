"""Text of one paragraph whose runs are raised, lowered or struck."""

from __future__ import annotations

from itertools import groupby
from typing import Literal

from kg_api.convert.markdown_text import lower_text, raise_text

Script = Literal["", "raised", "lowered"]


class InlineText:
    """Runs of a paragraph; equal neighbours are shown as one, as Office cuts them anywhere."""

    def __init__(self) -> None:
        self._runs: list[tuple[str, Script, bool]] = []

    def add(self, text: str, script: Script = "", *, struck: bool = False) -> None:
        if text:
            self._runs.append((text, script, struck))

    @property
    def size(self) -> int:
        """How many runs were added."""
        return len(self._runs)

    def render(self) -> str:
        """Return Markdown: `10⁶`, `~~499~~ 399`; line breaks stay."""
        return "".join(
            _strike(_render_scripts(runs)) if struck else _render_scripts(runs)
            for struck, runs in (
                (key, list(runs)) for key, runs in groupby(self._runs, key=lambda run: run[2])
            )
        )


def _render_scripts(runs: list[tuple[str, Script, bool]]) -> str:
    shown = {"raised": raise_text, "lowered": lower_text}
    parts = (
        (script, "".join(run[0] for run in same)) for script, same in groupby(runs, key=lambda run: run[1])
    )
    return "".join(shown[script](text) if script and text.strip() else text for script, text in parts)


def _strike(text: str) -> str:
    words = text.strip()
    if not words:
        return text
    at = text.index(words)
    return f"{text[:at]}~~{' '.join(words.split())}~~{text[at + len(words) :]}"
