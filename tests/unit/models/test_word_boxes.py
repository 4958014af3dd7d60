import pytest

from kg_api.schemas.documents import WordBox, compute_mean_word_confidence, pack, unpack

BOXES = [WordBox(1000, 1007, 3, 10, 9990, 9999, 10_000, 97), WordBox(1008, 1009, 4, 0, 0, 1, 2, 17)]


def test_packed_boxes_round_trip() -> None:
    assert unpack(pack(BOXES, 1000), 1000) == BOXES
    assert unpack(pack(BOXES, 1000), 40)[0].start == 40


def test_a_word_takes_few_bytes() -> None:
    row = [WordBox(8 * n, 8 * n + 7, 3, 90 * n, 1500, 90 * n + 80, 1620, 90 + n % 9) for n in range(100)]
    assert len(pack(row, 0)) < 1000


def test_boxes_of_a_later_version_are_rejected() -> None:
    with pytest.raises(ValueError, match="later version"):
        unpack(b"\x07", 0)


def test_confidence_is_by_letters() -> None:
    assert compute_mean_word_confidence(BOXES) == pytest.approx((7 * 0.97 + 0.17) / 8, abs=0.001)
    assert compute_mean_word_confidence([]) is None
