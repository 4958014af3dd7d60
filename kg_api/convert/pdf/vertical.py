"""Chinese and Japanese written from top to bottom, in columns from right to left.

A page's coordinates are turned for such text: a column becomes a line that runs from left to right, and the
columns to its left become the lines below it. So the rest of the layout knows nothing of vertical writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kg_api.convert.pdf.fonts import DOWN
from kg_api.convert.pdf.layout import FoundRun, TextRun
from kg_api.convert.pdf.letters import are_cjk

_MIN_LETTERS = 3
"""Single letters below each other that are a column: fewer may be cells of a table."""
_ASIDE = 0.5
_MIN_STEP, _MAX_STEP = 0.7, 2.2
_CELL, _DIGITS = 1.4, 3
"""How wide, of the font size, and of how many digits: a number within a column that stands across it."""


def stack(found: Sequence[FoundRun]) -> list[FoundRun]:
    """Join letters that are placed one below the other.

    If most of the page is written so, they are turned like letters of a font for vertical writing. Otherwise
    they are a stacked label, which stays one piece at its place.
    """
    chains = _find_chains(found)
    stacked = sum(len(each.run.text) for chain in chains if len(chain) >= _MIN_LETTERS for each in chain)
    down = sum(len(each.run.text) for each in found if each.turn == DOWN and _is_cjk(each.run))
    if not (stacked or down):
        return list(found)
    across = sum(len(each.run.text) for each in found if each.turn == 0) - stacked
    if stacked + down <= across:
        return [each for chain in chains for each in (_lay(chain) if len(chain) >= _MIN_LETTERS else chain)]
    return list(_take_numbers([each for chain in chains for each in _stand(chain)]))


def _find_chains(found: Sequence[FoundRun]) -> list[list[FoundRun]]:
    chains: list[list[FoundRun]] = []
    for each in found:
        if chains and _goes_down(chains[-1][-1], each):
            chains[-1].append(each)
        else:
            chains.append([each])
    return chains


def _goes_down(above: FoundRun, below: FoundRun) -> bool:
    if not (_is_cell(above) and _is_cell(below)):
        return False
    size = max(above.run.size, below.run.size)
    beside = abs(_middle(above.run) - _middle(below.run)) < _ASIDE * size
    return beside and _MIN_STEP * size < above.run.baseline - below.run.baseline < _MAX_STEP * size


def _is_cell(each: FoundRun) -> bool:
    run = each.run
    narrow = each.turn == 0 and run.right - run.left < _CELL * run.size
    return narrow and (_is_cjk(run) or (run.text.isdigit() and len(run.text) <= _DIGITS))


def _is_cjk(run: TextRun) -> bool:
    return are_cjk(run.text, run.text)


def _middle(run: TextRun) -> float:
    return (run.left + run.right) / 2


def _join(chain: Sequence[FoundRun]) -> TextRun:
    text = "".join(each.run.text for each in chain)
    return replace(chain[0].run, text=text, unmapped=sum(each.run.unmapped for each in chain))


def _lay(chain: Sequence[FoundRun]) -> list[FoundRun]:
    middle = chain[len(chain) // 2].run.baseline
    return [FoundRun(0, replace(_join(chain), baseline=middle), chain[0].is_annotation)]


def _stand(chain: Sequence[FoundRun]) -> Sequence[FoundRun]:
    first, last = chain[0], chain[-1].run
    if not _is_cell(first) or not any(_is_cjk(each.run) for each in chain):
        return chain
    run = replace(_join(chain), left=-first.run.top, right=-last.bottom, baseline=_middle(first.run))
    return [FoundRun(DOWN, run, first.is_annotation)]


def _take_numbers(found: Sequence[FoundRun]) -> Iterator[FoundRun]:
    """Turn numbers that stand across a column, which fonts for vertical writing do not place."""
    columns = [each.run for each in found if each.turn == DOWN]
    for each in found:
        column = next((run for run in columns if _is_cell(each) and _is_within(each.run, run)), None)
        if column is None:
            yield each
        else:
            left = -(each.run.top + each.run.bottom) / 2 - column.size / 2
            turned = replace(each.run, left=left, right=left + column.size, baseline=column.baseline)
            yield FoundRun(DOWN, turned, each.is_annotation)


def _is_within(run: TextRun, column: TextRun) -> bool:
    beside = abs(_middle(run) - column.baseline) < _ASIDE * column.size
    return beside and column.left - 2 * column.size < -run.baseline < column.right + 2 * column.size
