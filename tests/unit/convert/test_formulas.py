# ruff: noqa: E501 - an element stays on one line, as in its file

from __future__ import annotations

import pytest

from kg_api.convert.ooxml.package import parse_part
from kg_api.convert.shared.formulas import write_formula
from tests.unit.convert.word_files import NAMESPACES


def t(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def part(name: str, content: str) -> str:
    return f"<m:{name}>{content}</m:{name}>"


def fraction(above: str, below: str, properties: str = "") -> str:
    return part("f", part("fPr", properties) + part("num", above) + part("den", below))


def scripts(name: str, base: str, sub: str = "", sup: str = "") -> str:
    inner = part("e", base) + (part("sub", sub) if sub else "") + (part("sup", sup) if sup else "")
    return part(name, inner)


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (scripts("sSup", t("𝑥"), sup=t("2")) + t("+3"), "x²+3"),
        (scripts("sSup", t("10"), sup=t("−4")), "10⁻⁴"),
        (scripts("sSup", t("e"), sup=t("2x+1")), "e^(2x+1)"),
        (scripts("sSup", t("a+b"), sup=t("2")), "(a+b)²"),
        (scripts("sSub", t("x"), sub=t("12")) + t("3"), "x₁₂ 3"),
        (scripts("sSubSup", t("x"), t("i"), t("2")), "xᵢ²"),
        (fraction(t("a"), t("b")), "a/b"),
        (t("3") + fraction(t("1"), t("2")), "3 1/2"),
        (fraction(t("a+1"), t("2b-c")), "(a+1)/(2b-c)"),
        (part("d", part("e", fraction(t("n"), t("k"), '<m:type m:val="noBar"/>'))), "(n ¦ k)"),
        (part("rad", part("deg", "") + part("e", t("x+1"))), "√(x+1)"),
        (part("rad", part("deg", t("3")) + part("e", t("8"))), "³√8"),
        (part("nary", '<m:naryPr><m:chr m:val="∑"/></m:naryPr>' + part("sub", t("i=1")) + part("sup", t("n")) + part("e", t("i"))), "∑_(i=1)ⁿ i"),
        (part("func", part("fName", t("sin")) + part("e", t("x"))), "sin x"),
        (part("d", '<m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>' + part("e", part("m", "".join(part("mr", part("e", t(a)) + part("e", t(b))) for a, b in ("12", "34"))))), "[1, 2; 3, 4]"),
        (part("eqArr", part("e", t("x&amp;=1")) + part("e", t("y&amp;=2"))), "x=1; y=2"),
        (part("limLow", part("e", t("lim")) + part("lim", t("x→0"))), "lim_(x→0)"),
        (part("acc", part("e", t("x"))), "x\u0302"),
        (t("1") + t("0") + "<w:del>" + t("9") + "</w:del>", "10"),
    ],
)  # fmt: skip
def test_formula_separates_letters_and_numbers(formula: str, shown: str) -> None:
    root = parse_part(f"<m:oMath {NAMESPACES}>{formula}</m:oMath>".encode(), "formula")
    assert write_formula(root) == shown
