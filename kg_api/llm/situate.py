"""Where chunks stand in their document, in a sentence or two by a language model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from kg_api.errors import LlmFailed
from kg_api.llm.parts import Part
from kg_api.llm.prompts import Chunk, Question, names_of, question

Ask = Callable[[Question], str]
"""`Chat.ask`."""
TOGETHER = 10
"""Chunks in one question: the document's text is sent, and paid for, once for all of them."""
_LONGEST_ANSWER = 200_000
_LOOKED_AT = 20
"""Brackets of an answer at which its JSON may begin: some models think or chat first."""
_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def situated(ask: Ask, part: Part, chunks: Sequence[Chunk]) -> list[str]:
    """Give the contexts of chunks, one line each; they are asked for together.

    What an answer leaves out is asked for once more, one chunk at a time.

    Raises:
        LlmFailed: the model does not give a context for each.
        ConfigurationError, InvalidInput, LlmUnavailable: see `Chat.ask`.
    """
    found = read(ask(question(part, chunks)))
    names = names_of(chunks)
    return [found.get(name) or _alone(ask, part, chunk) for name, chunk in zip(names, chunks, strict=True)]


def read(answer: str) -> dict[str, str]:
    """The contexts in an answer by their ids; ids that are there twice and empty ones are left out."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for name, context in _items(answer):
        twice |= {name} & found.keys()
        found[name] = context
    return {name: context for name, context in found.items() if name not in twice and context}


def _alone(ask: Ask, part: Part, chunk: Chunk) -> str:
    contexts = list(read(ask(question(part, [chunk]))).values())
    if len(contexts) != 1:
        raise LlmFailed(
            "the language model gives no context for a passage, asked twice; choose another "
            "one by KG_LLM__MODEL, or another context mode"
        )
    return contexts[0]


def _items(answer: str) -> Iterator[tuple[str, str]]:
    for item in _listed(_THOUGHTS.sub("", answer[:_LONGEST_ANSWER])):
        if isinstance(item, dict):
            entry = cast("dict[str, Any]", item)
            if isinstance(entry.get("context"), str):
                yield str(entry.get("id")), " ".join(_CONTROLS.sub(" ", entry["context"]).split())


def _listed(answer: str) -> list[object]:
    """The list of contexts, by itself or under its name, wherever the answer has it."""
    decoder = json.JSONDecoder(strict=False)
    for bracket in list(re.finditer(r"[{\[]", answer))[:_LOOKED_AT]:
        try:
            value, _ = decoder.raw_decode(answer, bracket.start())
        except (ValueError, RecursionError):
            continue
        listed = cast("dict[str, object]", value).get("contexts") if isinstance(value, dict) else value
        entries = cast("list[object]", listed) if isinstance(listed, list) else []
        if any(isinstance(entry, dict) for entry in entries):
            return entries
    return []
