from types import SimpleNamespace
from typing import Any

import pytest

from kg_api.schemas.image_search import ImageScope, ImageThrough
from kg_api.schemas.search import DescribedPlace, LanePart
from kg_api.search import images
from kg_api.search.images import ImageLane, ImageSearchService, LanesFound, _describe_lane, _note_less_similar
from tests.support.hits import make_place
from tests.unit.search.found import SPACE

IMAGE = {"storage_key": "k", "content_type": "image/png", "width": 1, "height": 1, "bytes": 1}


def picture(identity: str, **more: Any) -> DescribedPlace:
    return DescribedPlace(**make_place(identity, kind="image", image=IMAGE, **more).model_dump())


def lane(**found: float) -> ImageLane:
    ways = enumerate(found.items(), start=1)
    return ImageLane(
        SPACE,
        {
            name: ImageThrough(lane="picture_space", rank=rank, similarity=similarity)
            for rank, (name, similarity) in ways
        },
    )


@pytest.mark.parametrize(
    ("least", "limit", "expected"),
    [(None, 9, "cbdef"), (None, 2, "cb"), (0.4, 9, "cbd"), (0.41, 9, "bc"), (0.9, 9, ""), (-0.5, 9, "cbde")],
)
def test_images_of_several_spaces_are_joined_by_rank(
    monkeypatch: pytest.MonkeyPatch, least: float | None, limit: int, expected: str
) -> None:
    places = [picture(each) for each in "bcdef"]
    monkeypatch.setattr(
        images, "describe_places", lambda _, ids: [each for each in places if each.source_id in ids]
    )
    unused: Any = None
    snapshots = SimpleNamespace(filters=None, get_progress=str)
    monkeypatch.setattr(images, "get_snapshots", lambda _: snapshots)
    service = ImageSearchService(unused, unused, unused, unused, unused)
    lanes = [lane(a=0.8, b=0.7, c=0.6), lane(c=0.4, d=0.4, e=-0.2, f=-0.9)]
    found = service._join(lanes, ImageScope(min_similarity=least, limit=limit))
    assert "".join(each.source_id for each in found) == expected
    if least is None:
        assert [(way.rank, way.similarity) for way in found[0].through] == [(3, 0.6), (1, 0.4)]


@pytest.mark.parametrize(("least", "nearest"), [(None, None), (0.5, None), (0.51, "0.50"), (0.9, "0.50")])
def test_too_dissimilar_images_are_noted(least: float | None, nearest: str | None) -> None:
    told = _note_less_similar([lane(a=0.2), lane(b=0.5, c=0.3), lane()], least)
    assert (told and told.partition(" nearest has ")[2]) == nearest
    assert _note_less_similar([lane()], 0.5) is None


def test_ontologies_without_comparison_are_named() -> None:
    found = LanesFound()
    found.leave_out(["a", "b"], "no model")
    found.leave_out([f"o{n}" for n in range(11)], "no index")
    assert [each.effect for each in found.degraded] == [
        "a, b: no model. No images were compared",
        f"{', '.join(f'o{n}' for n in range(10))} and more: no index. No images were compared",
    ]


@pytest.mark.parametrize(
    ("name", "lane", "space", "similarity"),
    [
        ("text", "words", None, None),
        ("concepts", "concepts", None, None),
        ("vector:default", "words", "default", 0.5),
        ("pictures:seen", "picture_space", "seen", 0.5),
    ],
)
def test_retrievers_of_an_image_are_named(
    name: str, lane: str, space: str | None, similarity: float | None
) -> None:
    part = LanePart(lane=name, index="i", rank=2, score=0.5, weight=1, contribution=1)
    found = _describe_lane(part)
    assert (found.lane, found.rank, found.space, found.similarity) == (lane, 2, space, similarity)
