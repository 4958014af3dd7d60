"""The layouts of an ontology's texts or images: built, activated, rolled back."""

from __future__ import annotations

import pytest

from kg_api.graph.spaces import Layout, SpaceUse, StoredConfiguration
from kg_api.schemas.spaces import SECOND_SLOT
from kg_api.schemas.vocabulary import Modality

OLD, NEW = Layout("old", chunking="{}"), Layout("new", chunking="{}")


def test_another_space_is_built_while_the_present_one_answers() -> None:
    use = SpaceUse(OLD).built(NEW, answers=True, activates=False)
    assert (use.answering, use.target, use.kept_up, use.activates) == (OLD, NEW, [OLD, NEW], False)
    assert use.activated() == SpaceUse(NEW, previous=OLD)


def test_another_chunking_alternates_between_both_slots() -> None:
    use = SpaceUse(OLD)
    for number, slot in enumerate((SECOND_SLOT, "", SECOND_SLOT)):
        wanted = Layout("old", chunking=str(number))
        use = use.built(wanted, answers=True, activates=True).activated()
        assert use.target == Layout("old", slot, str(number))


def test_a_use_without_vectors_changes_in_place() -> None:
    use = SpaceUse(OLD, previous=Layout("older")).built(NEW, answers=False, activates=False)
    assert use == SpaceUse(NEW, previous=Layout("older"))


def test_a_build_over_the_previous_layout_forgets_that() -> None:
    use = SpaceUse(OLD, previous=NEW).built(NEW, answers=True, activates=True)
    assert use == SpaceUse(NEW, OLD)


def test_a_rollback_gives_a_build_up_or_returns_to_the_previous_layout() -> None:
    built = SpaceUse(OLD).built(NEW, answers=True, activates=False)
    assert built.rolled_back() == SpaceUse(OLD)
    assert built.activated().rolled_back() == SpaceUse(OLD, previous=NEW)
    assert SpaceUse(OLD).rolled_back() is None


@pytest.mark.parametrize("modality", ["text", "image"])
def test_a_modality_is_used_alone(modality: Modality) -> None:
    configured = StoredConfiguration(SpaceUse(OLD))
    changed = configured.using(modality, SpaceUse(NEW))
    assert changed.of(modality) == SpaceUse(NEW)
    other: Modality = "text" if modality == "image" else "image"
    assert changed.of(other) == configured.of(other)
    assert "new" in changed.kept_up
