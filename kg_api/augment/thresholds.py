"""What is similar enough, by model: the same number means different things to different models. Pure."""

from __future__ import annotations

from kg_api.models.queries.augment import AugmentRequest, Threshold

DEFAULT = 0.7
MEASURED = {
    "bge-small-en-v1.5": 0.70,
    "all-MiniLM-L6-v2": 0.50,
    "e5-small-v2": 0.85,
}
"""By model, where as many of the passages that belong to a text pass (62 %) as with 0.7 in bge-small-en-v1.5.

Of passages that do not, 0.1 to 0.6 % pass on encyclopaedia text and 3 to 17 % within one technical subject.
"""


def threshold(space: str, model: str, request: AugmentRequest) -> Threshold:
    """The least similarity in a space: what is asked for, else what was measured, else 0.7."""
    if request.mode == "text":
        return Threshold(space=space, min_similarity=None, source="none")
    if request.min_similarity is not None:
        return Threshold(space=space, min_similarity=request.min_similarity, source="request")
    if model in MEASURED:
        return Threshold(space=space, min_similarity=MEASURED[model], source="model")
    return Threshold(space=space, min_similarity=DEFAULT, source="default")
