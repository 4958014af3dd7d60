from __future__ import annotations

from kg_api.embed.deterministic import DeterministicEmbedder
from kg_api.spaces.calibration import PAIRS, contrast_of


def test_related_texts_are_nearer_than_unrelated_ones() -> None:
    contrast = contrast_of(DeterministicEmbedder())
    assert -1 <= contrast.unrelated < contrast.related <= 1
    assert contrast.gap == contrast.related - contrast.unrelated


def test_a_model_of_very_few_tokens_is_measured_too() -> None:
    small = DeterministicEmbedder(max_tokens=8)
    assert contrast_of(small) == contrast_of(small)


def test_questions_and_answers_are_all_different() -> None:
    texts = [text for pair in PAIRS for text in pair]
    assert len(set(texts)) == len(texts) == 32
