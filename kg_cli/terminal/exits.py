"""Exit codes of commands that did a part of what they were asked; errors have theirs in `kg_api.errors`."""

from __future__ import annotations

from typing import Final

SOME_FAILED: Final = 3
"""Some of several were not done, and each was said; the others were."""
