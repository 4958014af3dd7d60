from __future__ import annotations

import io

import pytest
from rich.console import Console

from kg_api.schemas.image_search import ImageHit, ImageHits
from kg_cli.search.images import print_found
from kg_cli.terminal import console
from tests.unit.search.found import place


def test_vector_and_keyword_ranks_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    out = Console(file=written, width=120)
    monkeypatch.setattr(console, "stdout", lambda: out)
    through = [
        {"lane": "words", "rank": 2, "similarity": 0.6, "space": "a"},
        {"lane": "words", "rank": 1},
        {"lane": "concepts", "rank": 3},
    ]
    hit = ImageHit.model_validate({**place("a").model_dump(), "score": 1.0, "through": through})
    values = {"by": ["words"], "spaces": [], "degraded": [], "timings_ms": {"total": 3.0}}
    print_found(ImageHits.model_validate({**values, "images": [hit]}))
    for told in ("their text, by vector search, 2. (0.60)", "their text, by full text, 1.", "concepts, 3."):
        assert told in written.getvalue()
