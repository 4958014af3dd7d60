from __future__ import annotations

from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.spaces.open_spaces import calibrate_similarity, read_pairs


def test_related_texts_are_nearer_than_unrelated_ones() -> None:
    calibration = calibrate_similarity(DeterministicEmbedder())
    assert -1 <= calibration.unrelated < calibration.related <= 1
    assert calibration.gap == calibration.related - calibration.unrelated


def test_a_model_of_very_few_tokens_is_measured_too() -> None:
    small = DeterministicEmbedder(max_tokens=8)
    assert calibrate_similarity(small) == calibrate_similarity(small)


def test_questions_and_answers_are_all_different() -> None:
    texts = [text for pair in read_pairs() for text in pair]
    assert len(set(texts)) == len(texts) == 32
