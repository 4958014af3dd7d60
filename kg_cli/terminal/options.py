"""What several commands let a person choose from."""

from __future__ import annotations

import re


def hypothetical(given: str | None) -> int | str | None:
    """The value of --hyde: `auto`, or a number; what is neither the service refuses."""
    return int(given) if given is not None and given.isdecimal() and given.isascii() else given


def without_place(citation: str) -> str:
    """What a citation is of: the source's id; a name may have a `#` of its own."""
    return re.sub(r"#\d+-\d+$", "", citation)
