"""Why there is no answer, in words. Pure."""

from __future__ import annotations

from kg_api.answer.statements import Proving
from kg_api.models.queries.answering import AnswerCounts, Refusal
from kg_api.models.queries.search import Degradation

REASONS: dict[Refusal, str] = {
    "nothing_found": "no passage was found",
    "nothing_similar": "no passage is similar enough to the question; a lower min_similarity takes more",
    "not_measured": "the question could not be embedded, so min_similarity cannot be applied to what words "
    "found; ask again later, or without min_similarity",
    "not_in_passages": "the passages that were found do not answer the question",
    "no_valid_citation": "the language model proved none of its statements by a quote from the passages",
}


def reason_of(refusal: Refusal | None, counts: AnswerCounts) -> str | None:
    """A refusal in words; None where there is an answer."""
    if refusal == "nothing_similar" and counts.beyond_budget:
        return "the best passage alone is longer than token_budget; raise it"
    if refusal == "nothing_similar" and not counts.below_similarity:
        return "the passages that were found are not embedded yet; ask again when they are, or by mode text"
    return None if refusal is None else REASONS[refusal]


def explain_unproven(proving: Proving) -> Refusal:
    """Why an answer that can be read has no statement."""
    return "no_valid_citation" if proving.without_citation else "not_in_passages"


def unreadable(fault: str) -> str:
    """What is told of an answer that cannot be read: it says nothing of the passages."""
    return (
        f"the language model's answer cannot be read: {fault}. That says nothing about your documents; ask "
        "again, and if it stays so choose another model by KG_LLM__MODEL"
    )


def notes_of(proving: Proving) -> list[Degradation]:
    """What of an answer that can be read was left out."""
    return [
        Degradation(part="answer", effect=f"the language model's answer: {each}") for each in proving.notes
    ]
