"""Where chunks stand in their document, in a sentence or two by a language model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kg_api.errors import LlmFailed
from kg_api.llm.parts import DocumentPart
from kg_api.llm.prompts import Chunk, Prompt, names_of, question
from kg_api.llm.replies import parse_entries

Ask = Callable[[Prompt], str]
"""`Chat.ask`."""
TOGETHER = 10
"""Chunks in one question: the document's text is sent, and paid for, once for all of them."""
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def situate(ask: Ask, part: DocumentPart, chunks: Sequence[Chunk]) -> list[str]:
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
    found = {name: entry.get("context") for name, entry in parse_entries(answer, "contexts").items()}
    lines = {
        name: " ".join(_CONTROLS.sub(" ", said).split())
        for name, said in found.items()
        if isinstance(said, str)
    }
    return {name: line for name, line in lines.items() if line}


def _alone(ask: Ask, part: DocumentPart, chunk: Chunk) -> str:
    contexts = list(read(ask(question(part, [chunk]))).values())
    if len(contexts) != 1:
        raise LlmFailed(
            "the language model gives no context for a passage, asked twice; choose another "
            "one by KG_LLM__MODEL, or another context mode"
        )
    return contexts[0]
