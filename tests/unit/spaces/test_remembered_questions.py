"""What a question's vector was is remembered, as long as the model is the same."""

from __future__ import annotations

import pytest

from kg_api.errors import OtherModel
from kg_api.spaces import open_spaces
from kg_api.spaces.open_spaces import PROBE_TEXT
from tests.unit.spaces.conftest import Opened


def test_a_question_that_comes_again_is_not_embedded_again(opened: Opened) -> None:
    opened.space.embed_query("owls")
    first, again = (opened.space.embed_query("foxes") for _ in range(2))
    assert opened.sent == [["owls", PROBE_TEXT], ["foxes"]]
    assert first.tobytes() == again.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 1


def test_the_question_by_which_the_model_was_proven_is_remembered_too(opened: Opened) -> None:
    first, again = (opened.space.embed_query("owls") for _ in range(2))
    assert opened.sent == [["owls", PROBE_TEXT]]
    assert first.tobytes() == again.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_what_another_model_answered_is_not_remembered(
    opened: Opened, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the seconds in which nobody looks a wrong vector may be kept; when it is found out, it goes."""
    del at_once
    monkeypatch.setattr(open_spaces, "PROVEN_SECONDS", 1000.0)
    opened.space.embed_query("owls")
    right = opened.space.embed_query("foxes").copy()
    opened.model.turned = True
    wrong = opened.space.embed_query("dens").copy()
    with pytest.raises(OtherModel):
        opened.space.check()
    opened.model.turned = False
    opened.space.check()
    assert opened.space.embed_query("dens").tobytes() != wrong.tobytes()
    assert opened.space.embed_query("foxes").tobytes() == right.tobytes()
