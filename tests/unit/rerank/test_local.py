import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kg_api.errors import ConfigurationError, RerankUnavailable
from kg_api.providers.cross_encoder import MAX_QUESTION_LENGTH, CrossEncoder
from kg_api.providers.rerank import TOKENIZER, WEIGHTS, LocalReranker, require_packaged

QUESTION = "how many people live in Berlin?"
ANSWER = "Berlin has a population of 3,520,031 registered inhabitants."
NEAR = "Berlin is the capital of Germany and known for its museums."
FAR = "New York City is famous for the Metropolitan Museum of Art."
FILLER = "The cat sat on the mat and looked at nothing in particular. "


@pytest.fixture(scope="module")
def reranker() -> Iterator[LocalReranker]:
    opened = LocalReranker(require_packaged(), "test", threads=2)
    opened.score(QUESTION, [ANSWER], seconds=60)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def model() -> CrossEncoder:
    return CrossEncoder(require_packaged())


def test_answer_ranks_before_near_and_unrelated_text(reranker: LocalReranker) -> None:
    far, answer, near = reranker.score(QUESTION, [FAR, ANSWER, NEAR], seconds=20)
    assert answer > 0.99
    assert answer > near > far
    assert far < 0.01


@pytest.mark.parametrize("text", ["", " ", "\n", "[SEP] [CLS]", "柏林有三百万人口", "\ud800", "\x00"])
def test_any_passage_has_a_score(reranker: LocalReranker, text: str) -> None:
    text = text.encode(errors="replace").decode()  # half a pair never gets past the request's check
    (score,) = reranker.score(QUESTION, [text], seconds=20)
    assert 0 <= score <= 1


def test_answer_late_in_a_long_passage_counts(model: CrossEncoder) -> None:
    """512 tokens are less than half of the text. If the model could only see these, both scores would be
    the same."""
    assert model.score(QUESTION, FILLER * 90 + ANSWER) > model.score(QUESTION, FILLER * 90) + 1


def test_too_long_question_is_rejected(reranker: LocalReranker) -> None:
    reranker.score(" ".join(["word"] * MAX_QUESTION_LENGTH), [ANSWER], seconds=20)
    for words in (MAX_QUESTION_LENGTH + 1, 20_000):
        with pytest.raises(RerankUnavailable, match="longer than the 64 tokens"):
            reranker.score(" ".join(["word"] * words), [ANSWER], seconds=20)


def test_time_limit_scores_only_the_first_passages(reranker: LocalReranker) -> None:
    texts = [ANSWER, *[FILLER * 30] * 400]
    begun = time.monotonic()
    scores = reranker.score(QUESTION, texts, seconds=1)
    assert time.monotonic() - begun > 0.9
    assert 1 <= len(scores) < len(texts)
    assert scores[0] > 0.99


def test_nothing_is_loaded_before_the_first_question(tmp_path: Path) -> None:
    reranker = LocalReranker(tmp_path, "nothing")
    assert reranker.name == "local:nothing"
    with pytest.raises(RerankUnavailable, match="tokenizer"):
        reranker.score(QUESTION, [ANSWER], seconds=5)
    reranker.close()


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_invalid_model_files_are_rejected(tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(require_packaged(), tmp_path / "own")
    (folder / name).write_bytes(b"nonsense")
    with pytest.raises(ConfigurationError, match=name):
        CrossEncoder(folder)
