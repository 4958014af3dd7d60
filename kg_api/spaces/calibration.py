"""How far a model holds related and unrelated texts apart: cosines of two models have no common scale.

Unrelated texts have a cosine near 0 in one model and 0.75 in another (DESIGN 7), and what fusion reads out of
a difference depends on it. The same pairs are shown to every model once.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.port import Embedder
from kg_api.models.embedding.spaces import SimilarityCalibration

PAIRS: Final = (
    (
        "How do bees tell each other where food is?",
        (
            "A honey bee that comes home dances on the comb; the angle of the dance shows the "
            "direction of the flowers and its length the distance."
        ),
    ),
    (
        "Why is the sky blue?",
        (
            "Air scatters short waves of sunlight far more than long ones, so blue light reaches "
            "the eye from all sides."
        ),
    ),
    (
        "How long does a passport stay valid?",
        "Travel documents for adults are issued for ten years, those for children for five.",
    ),
    (
        "What should I do when a payment fails?",
        (
            "If the card was declined, check the number and the limit, then try again or choose "
            "another way to pay."
        ),
    ),
    (
        "Who painted the ceiling of the Sistine Chapel?",
        "Between 1508 and 1512 Michelangelo covered the vault of the chapel with scenes from Genesis.",
    ),
    (
        "How is bread dough made to rise?",
        "Yeast eats sugar in the flour and gives off gas, whose bubbles are held by the gluten.",
    ),
    (
        "When was the first railway opened?",
        "In 1825 the line from Stockton to Darlington carried passengers behind a steam engine.",
    ),
    (
        "How do I delete a row from a table in SQL?",
        "The statement DELETE FROM with a WHERE clause removes the records that meet its condition.",
    ),
    (
        "What are the side effects of aspirin?",
        "It can irritate the stomach and thin the blood, so bleeding may last longer.",
    ),
    (
        "How far is the moon from the earth?",
        "Our satellite circles at a mean distance of 384,400 kilometres.",
    ),
    (
        "Which rights does a tenant have?",
        "Whoever rents a flat may ask for repairs, and the landlord must give notice in writing.",
    ),
    (
        "How can a house be kept warm cheaply?",
        "Insulating the roof and sealing windows saves more heating than any new boiler.",
    ),
    (
        "Why did the Roman empire fall?",
        (
            "Invasions, civil wars and debased money weakened the western provinces until the last"
            " emperor was deposed in 476."
        ),
    ),
    (
        "What is a neural network?",
        (
            "Layers of simple units pass weighted sums through a function, and the weights are "
            "learned from examples."
        ),
    ),
    (
        "How do I look after a cactus?",
        "Give it much light, sandy soil and little water, none at all in winter.",
    ),
    (
        "How are goals counted in water polo?",
        "A point is scored when the ball has wholly crossed the line between the posts of the floating goal.",
    ),
)
"""Questions and their answers, of sixteen fields, sharing few words."""


def calibrate_similarity(embedder: Embedder) -> SimilarityCalibration:
    """The mean cosine of questions with their own answers, and with all other answers.

    Both sides are embedded as passages: one call, whatever the provider.

    Raises:
        EmbeddingUnavailable, EmbeddingFailed, ConfigurationError: the model does not answer.
    """
    vectors = embedder.embed_passages([_fitting(embedder, text) for pair in PAIRS for text in pair])
    vectors = vectors.astype(np.float64)
    cosines = vectors[0::2] @ vectors[1::2].T
    own = cosines.diagonal()
    others = (cosines.sum(axis=1) - own) / (len(PAIRS) - 1)
    return SimilarityCalibration(related=float(own.mean()), unrelated=float(others.mean()))


def calibrate_labels(questions: NDArray[np.float32], vectors: NDArray[np.float32]) -> SimilarityCalibration:
    """The mean cosine of concepts' labels, asked for, with their own stored vectors and with all others'.

    Labels are short and of one subject, and their vectors crowd: those that have nothing to do with each
    other are nearer than passages are (adr/0029).

    Args:
        questions: the labels of the first of some concepts as questions, a row each.
        vectors: what is stored of all of them, a row each.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = questions.astype(np.float64) @ (vectors / np.maximum(lengths, 1e-12)).T
    own = cosines.diagonal()
    others = (cosines.sum() - own.sum()) / (cosines.size - len(own))
    return SimilarityCalibration(related=float(own.mean()), unrelated=float(others))


def _fitting(embedder: Embedder, text: str) -> str:
    """The beginning of a text that a model of very few tokens takes; the others take all."""
    return text[: embedder.spans(text)[0][1]]
