from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.search.rank import MIN_OVERLAP, near_duplicates, overlap, phrases_of

TEXT = st.text("ab .,\n语é", max_size=20)
PARAGRAPH = (
    "The lease of a job is renewed while its worker lives. When no heartbeat has come for a minute, another "
    "worker takes the job over, and the number of the owner is raised, so that whatever the first one still "
    "writes is refused."
)
RECORD = (
    "Winner {}: scoring round, {} and {} advance to the runoff with {} and {} stars each, as was foreseen."
)


@given(st.lists(TEXT, max_size=12))
def test_each_text_is_in_one_group_and_like_its_first(texts: list[str]) -> None:
    groups = near_duplicates(texts)
    assert sorted(index for group in groups for index in group) == [*range(len(texts))]
    for group in groups:
        assert group == sorted(group)
        for index in group[1:]:
            assert overlap(texts[group[0]], texts[index]) >= MIN_OVERLAP
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    for one, other in combinations([group[0] for group in groups], 2):
        assert overlap(texts[one], texts[other]) < MIN_OVERLAP


@given(TEXT, TEXT)
def test_overlap_is_a_measure(one: str, other: str) -> None:
    assert phrases_of(one)
    assert overlap(one, one) == 1
    assert 0 <= overlap(one, other) == overlap(other, one) <= 1


@given(st.lists(TEXT, max_size=8))
def test_exact_copies_are_always_together(texts: list[str]) -> None:
    groups = near_duplicates([*texts, *texts])
    of = {index: at for at, group in enumerate(groups) for index in group}
    for index in range(len(texts)):
        assert of[index] == of[index + len(texts)]


@pytest.mark.parametrize(
    "copy",
    [
        PARAGRAPH.upper(),
        PARAGRAPH.replace(" ", "\n  "),
        PARAGRAPH.replace(".", "").replace(",", ";"),
        f"**{PARAGRAPH}**",
        PARAGRAPH.replace("a minute", "a second"),
        f"Leases. {PARAGRAPH}",
        PARAGRAPH + " Nothing is lost.",
        "\ufb01" + PARAGRAPH[1:],  # a ligature for one letter of forty
    ],
)
def test_a_copy_with_small_changes_is_a_near_duplicate(copy: str) -> None:
    assert near_duplicates([PARAGRAPH, copy]) == [[0, 1]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (RECORD.format(2, "Ann", "Bo", 249, 239), RECORD.format(3, "Bo", "Cy", 239, 191)),
        ("Revenue of 2013 was 5 million dollars.", "Revenue of 2014 was 6 million dollars."),
        (PARAGRAPH, f"{PARAGRAPH} {PARAGRAPH.replace('job', 'folder').replace('worker', 'scan')}"),
        ("a b c", "c b a"),
        ("---", "==="),
        ("", "x"),
        ("我爱北京天安门的早晨", "我爱上海外滩的夜晚啊"),
    ],
)
def test_what_says_something_else_is_none(one: str, other: str) -> None:
    assert near_duplicates([one, other]) == [[0], [1]]


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    text = "心跳停止一分钟后，另一个工作进程接管该任务，并提高所有者编号，这样第一个进程写入的内容会被拒绝。"
    assert near_duplicates([text, text.replace("，", " ") + "好"]) == [[0, 1]]


def test_the_order_decides_who_leads_and_groups_do_not_chain() -> None:
    words = [f"w{n}" for n in range(60)]
    near = [*words[:58], "y", "z"]
    far = ["a", "b", "c", *near[3:]]
    texts = [" ".join(each) for each in (words, near, far)]
    assert overlap(texts[0], texts[1]) >= MIN_OVERLAP <= overlap(texts[1], texts[2])
    assert overlap(texts[0], texts[2]) < MIN_OVERLAP
    assert near_duplicates(texts) == [[0, 1], [2]]
    assert near_duplicates([texts[1], texts[0], texts[2]]) == [[0, 1, 2]]


def test_nothing_is_no_group() -> None:
    assert near_duplicates([]) == []
