"""Keyphrases of scripts without spaces between words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.extraction.language import simplify
from kg_api.extraction.spaceless import find_chinese_phrases, find_japanese_phrases
from tests.support.growth import assert_linear
from tests.support.keyphrases import extract, labels, sources


@pytest.mark.parametrize(
    ("text", "found", "left"),
    [
        ("服务同时使用全文索引和向量数据库。", {"全文索引", "向量数据库"}, {"使用全文索引", "服务"}),
        ("作者享有发表权和署名权。", {"发表权", "署名权"}, {"发表", "权"}),
        ("主节点失效时，通过选举算法选出新的主节点。", {"主节点", "选举算法"}, {"算法选出", "新的主节点"}),
        ("患者应当定期检测糖化血红蛋白。", set[str](), {"检测糖化", "检测糖化血红蛋白", "定期检测"}),
        ("女神卡卡演唱了国歌。", {"国歌"}, {"演唱", "演唱了国歌"}),
        ("这是一个问题，原因是时间。", set[str](), {"问题", "原因", "时间", "一个问题"}),
        ("资料库管理系统是一种软体。", {"资料库管理系统"}, {"一种软体"}),
    ],
)
def test_chinese_nouns_with_what_describes_them(text: str, found: set[str], left: set[str]) -> None:
    known = set(labels(text))
    assert found <= known
    assert not left & known


def test_latin_names_stay_within_chinese_and_japanese() -> None:
    assert {"Neo4j", "数据库"} <= set(labels("服务使用 Neo4j 数据库来存储。"))
    assert {"PyTorch", "混合精度学習"} <= set(labels("この PyTorch では混合精度学習を使う。"))


def test_traditional_characters_are_read_as_simplified_ones_and_stay_as_they_are() -> None:
    assert {"資料庫管理系統", "發表權"} <= set(labels("資料庫管理系統是一種軟體，作者享有發表權。"))
    assert simplify("資料庫") == "资料库"


@pytest.mark.parametrize(
    ("text", "found", "left"),
    [
        ("グラフデータベースに保存する。", {"グラフデータベース"}, {"保存"}),
        (
            "ジョブをキューから取り出し、リースを更新しながら処理する。",
            {"ジョブ", "キュー", "リース"},
            {"更新", "処理"},
        ),
        ("腎機能を定期的に調べる。", {"腎機能"}, {"定期的", "定期"}),
        ("総工費は百二十億円で、保護期間は七十年である。", {"総工費", "保護期間"}, {"百二十億円", "七十年"}),
        ("第三者機関が三年間調べた。", set[str](), {"三年間調", "年間"}),
    ],
)
def test_japanese_runs_of_characters_that_nouns_are_written_in(
    text: str, found: set[str], left: set[str]
) -> None:
    known = set(labels(text))
    assert found <= known
    assert not left & known


def test_a_heading_without_kana_is_japanese_among_japanese() -> None:
    found = labels("# 冪等性検査\n\nこれは冪等性検査のことで、リースを使う。それを確かめる。\n")
    assert "冪等性検査" in found


def test_of_thai_names_in_latin_letters_alone_are_found() -> None:
    thai = "เลดีกากาซึ่งชนะรางวัลแกรมมีหกรางวัลและได้เข้าชิงรางวัล LA Galaxy กับ LA Galaxy"
    assert labels(thai) == ["LA Galaxy"]


def test_a_name_that_another_language_quotes_is_not_taken_apart() -> None:
    text = "They wrote the new code of the Great Yuan (Chinese: 大元通制), and it was the law of the empire."
    assert not [each for each in labels(text) if not each.isascii()]


def test_quotes_are_the_sentences_that_say_it() -> None:
    text = "野马队赢了。他们用全文索引。"
    (found,) = extract(sources(text))
    quotes = {each.label: each.quotes[0] for each in found.concepts}
    assert quotes["全文索引"].text == "他们用全文索引。"
    assert text[quotes["全文索引"].start : quotes["全文索引"].end] == "他们用全文索引。"


CHARACTERS = st.text(
    st.sampled_from(
        "野马队在超级碗的数据库全文索引发表权了和用通过·—一二月年ab 。，ーカナのは\U00020000資料\x01"
    ),
    max_size=60,
)


@given(st.one_of(st.text(max_size=80), CHARACTERS))
def test_words_of_phrases_stand_in_order_within_the_text(text: str) -> None:
    for find in (find_chinese_phrases, find_japanese_phrases):
        for words, _ in find(text):
            places = list(_flat(words))
            assert places == sorted(places)
            assert 0 <= places[0] < places[-1] <= len(text)
            assert all(end == start for (_, end), (start, _) in pairwise(words))


def _flat(words: tuple[tuple[int, int], ...]) -> Iterator[int]:
    for start, end in words:
        assert start < end
        yield from (start, end)


@pytest.mark.parametrize("piece", ["数据库", "卡·", "卡·卡，", "用索引算法", "カナ漢字", "一二三年"])
def test_it_takes_as_long_as_the_text_is_long(piece: str) -> None:
    def seconds(size: int) -> float:
        begun = time.process_time()
        for find in (find_chinese_phrases, find_japanese_phrases):
            list(find(piece * size))
        return time.process_time() - begun

    assert_linear(seconds, 2_000, slack=0.05)
