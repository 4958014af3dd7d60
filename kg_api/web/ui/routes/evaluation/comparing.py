"""The page that compares saved results."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from kg_api.errors import InvalidInput
from kg_api.evaluate.saved.folder import SavedResults
from kg_api.evaluate.saved.questions import largest_differences
from kg_api.evaluate.scores.measures import family_of, ranks
from kg_api.models.evaluation import Comparison
from kg_api.models.vocabulary import MAX_COMPARED
from kg_api.web.dependencies import Offset, Results
from kg_api.web.ui.links import EVALUATIONS
from kg_api.web.ui.rendering import render
from kg_api.web.ui.routes.evaluation.runs import QUESTIONS

router = APIRouter(include_in_schema=False)

Chosen = Annotated[list[str] | None, Query(alias="name", max_length=MAX_COMPARED)]
FEWEST: Final = 2


@router.get(EVALUATIONS + "/compare")
def comparison_page(
    results: Results,
    names: Chosen = None,
    against: Annotated[str, Query(max_length=1000)] = "first",
    by: Annotated[str, Query(max_length=100)] = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show how results differ, measure by measure and question by question."""
    if len(names or ()) < FEWEST:
        raise InvalidInput(
            "choose two results or more, and then Compare; those of the same questions can be compared"
        )
    found = results.compare(names or [], None, against)
    shown: dict[str, Any] = {"names": names, "against": against, "found": found}
    shown |= _measure(found, by) | _questions(results, found, by or found.tests[0].metric, offset)
    return render("evaluations/compare.html", shown)


def _measure(found: Comparison, by: str) -> dict[str, Any]:
    """What can be looked at closer, and the one that is."""
    first, *others = found.metrics.values()
    shared = [name for name in first if all(name in each for each in others)]
    by = by or found.tests[0].metric
    if by not in shared:
        raise InvalidInput(f"there is no measure {by!r}; there are: {', '.join(shared)}")
    family = family_of(by)
    return {"by": by, "measures": shared, "family": family, "ranks": ranks(shared, family)}


def _questions(results: SavedResults, found: Comparison, by: str, offset: int) -> dict[str, Any]:
    by_label = {label: results.find(name) for label, name in found.results.items()}
    questions = largest_differences(by_label, found.baseline, by)
    page = {"offset": offset, "limit": QUESTIONS, "total": len(questions)}
    shown = {"questions": questions[offset : offset + QUESTIONS], "page": page}
    return {**shown, "baseline": by_label[found.baseline]}
