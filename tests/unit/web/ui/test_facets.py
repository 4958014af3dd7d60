"""Values of the facets beside the results of a search."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kg_api.web.ui.rendering import Question
from kg_api.web.ui.routes.queries import FACET_VALUES, count_values


def test_every_value_of_a_facet_can_be_chosen() -> None:
    names = ["Ada", *(f"author {n}" for n in range(FACET_VALUES + 2)), "Ada"]
    hits = [SimpleNamespace(document_id=str(n), metadata={"author": each}) for n, each in enumerate(names)]
    facet = count_values(cast("Any", hits), "author", Question(text="dance"))
    assert facet is not None
    assert (facet.values[0].value, facet.values[0].documents) == ("Ada", 2)
    assert (len(facet.values), len(facet.folded)) == (FACET_VALUES, 3)
    assert {each.value for each in (*facet.values, *facet.folded)} == set(names)
    assert all(each.question for each in facet.folded)


@pytest.mark.parametrize(("field", "narrows"), [("date", True), ("modified", False)])
def test_single_year_of_modification_is_hidden(field: str, narrows: bool) -> None:
    years = [{field: "2026-01-01"}, {field: "2026-02-01"}, {}]
    hits = [SimpleNamespace(document_id=str(n), metadata=each) for n, each in enumerate(years)]
    assert (count_values(cast("Any", hits), field, Question(text="dance")) is not None) == narrows
