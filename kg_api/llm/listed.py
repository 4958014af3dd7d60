"""The list of entries that a language model was asked for, wherever its answer has it."""

from __future__ import annotations

import json
import re
from typing import cast

_MAX_ANSWER_LENGTH = 200_000
_LOOKED_AT = 20
"""Brackets of an answer at which its JSON may begin: some models think or chat first."""
_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)


def parse_list(answer: str, name: str) -> list[dict[str, object]]:
    """The objects of the list of that name, or of a list by itself; none when it is something else."""
    said = _THOUGHTS.sub("", answer[:_MAX_ANSWER_LENGTH])
    decoder = json.JSONDecoder(strict=False)
    for bracket in list(re.finditer(r"[{\[]", said))[:_LOOKED_AT]:
        try:
            value, _ = decoder.raw_decode(said, bracket.start())
        except (ValueError, RecursionError):
            continue
        found = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else value
        entries = cast("list[object]", found) if isinstance(found, list) else []
        if objects := [cast("dict[str, object]", each) for each in entries if isinstance(each, dict)]:
            return objects
    return []
