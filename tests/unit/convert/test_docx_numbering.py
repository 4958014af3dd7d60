# ruff: noqa: E501 - an element stays on one line, as in its file
import pytest

from kg_api.convert.docx.document import convert
from kg_api.convert.ooxml.package import parse_part
from kg_api.convert.ooxml.text import format_number
from kg_api.convert.shared.formulas import write_formula
from tests.unit.convert.word_files import NAMESPACES, level, lists, paragraph, run, word_file

CLAUSES = level(0, "decimal", "%1.") + level(1, "decimal", "%1.%2") + level(2, "lowerLetter", "(%3)")


def item(text: str, at: int = 0, number: int = 1, style: str = "") -> str:
    return paragraph(run(text), style, number=(number, at))


def read(body: str, numbering: str = "", styles: str = "") -> list[str]:
    made = convert(word_file(body, numbering=numbering or lists(CLAUSES), styles=styles))
    assert made.notes == ()
    return [line.strip() for line in made.text.splitlines() if line.strip()]


def test_headings_and_clauses_have_whole_numbers() -> None:
    body = item("Scope", style="Heading1") + paragraph(run("Text.")) + item("Terms", 1, style="Heading2")
    body += item("Cranes", 2) + item("Rails", 2) + item("Liability", style="Heading1") + item("Years", 1)
    assert read(body) == [
        "# 1. Scope", "Text.", "## 1.1 Terms", "(a) Cranes", "(b) Rails", "# 2. Liability", "2.1 Years",
    ]  # fmt: skip


def style(identity: str, numbering: str, base: str = "Normal") -> str:
    return (
        f'<w:style w:type="paragraph" w:styleId="{identity}"><w:name w:val="{identity}"/>'
        f'<w:basedOn w:val="{base}"/><w:pPr><w:numPr>{numbering}</w:numPr></w:pPr></w:style>'
    )


def test_number_of_a_style_and_of_its_base() -> None:
    styles = style("Clause", '<w:numId w:val="1"/>') + style("Sub", '<w:ilvl w:val="1"/>', "Clause")
    styles += style("Bare", '<w:numId w:val="0"/>', "Clause")
    body = "".join(
        paragraph(run(text), name)
        for text, name in (("A", "Clause"), ("B", "Sub"), ("C", "Bare"), ("D", "Clause"))
    )
    assert read(body, styles=styles) == ["1. A", "1.1 B", "C", "2. D"]


def overridden(*lines: str) -> str:
    return lists(CLAUSES) + "".join(
        f'<w:num w:numId="{at}"><w:abstractNumId w:val="0"/>{line}</w:num>'
        for at, line in enumerate(lines, 2)
    )


def test_lists_of_one_definition_continue_unless_restarted() -> None:
    numbering = overridden(
        "", '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>',
        f'<w:lvlOverride w:ilvl="0">{level(0, "upperLetter", "%1)")}</w:lvlOverride>',
    )  # fmt: skip
    body = item("A") + item("B", number=2) + item("C", number=3) + item("D", number=3) + item("E", number=1)
    assert read(body, numbering) == ["1. A", "2. B", "7. C", "8. D", "9. E"]
    assert read(item("A") + item("B", number=4), numbering) == ["1. A", "B) B"]


def test_start_and_levels_that_restart_or_do_not() -> None:
    running = level(0, "decimal", "%1.", start=4) + level(
        1, "decimal", "%2)", more='<w:lvlRestart w:val="0"/>'
    )
    running += level(2, "decimal", "%3/%2", more='<w:lvlRestart w:val="1"/>')
    body = "".join(item(text, at) for text, at in zip("ABCDEFGH", (0, 1, 2, 1, 2, 0, 1, 2), strict=True))
    assert read(body, lists(running)) == ["4. A", "1) B", "1/1 C", "2) D", "2/2 E", "5. F", "3) G", "1/3 H"]


def test_deleted_item_is_not_counted() -> None:
    gone = paragraph(
        "<w:del><w:r><w:delText>B</w:delText></w:r></w:del>", "", "<w:rPr><w:del/></w:rPr>", number=(1, 0)
    )
    made = convert(word_file(item("A") + gone + item("C"), numbering=lists(CLAUSES)))
    assert made.text == "1. A\n2. C\n"


@pytest.mark.parametrize(("language", "is_known"), [("", True), ("en-GB", True), ("de-DE", False)])
def test_ordinals_depend_on_the_language_of_the_document(language: str, *, is_known: bool) -> None:
    spoken = f'<w:lang w:val="{language}"/>' if language else ""
    defaults = f"<w:docDefaults><w:rPrDefault><w:rPr>{spoken}</w:rPr></w:rPrDefault></w:docDefaults>"
    made = convert(word_file(item("A"), numbering=lists(level(0, "ordinal", "%1")), styles=defaults))
    assert made.text == ("1st A\n" if is_known else "1 A\n")
    assert (made.notes == ()) == is_known


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("decimalZero", {3: "03", 12: "12"}),
        ("upperRoman", {7: "VII", 1999: "MCMXCIX"}),
        ("lowerLetter", {1: "a", 26: "z", 27: "aa", 53: "aaa"}),
        ("ordinal", {1: "1st", 2: "2nd", 3: "3rd", 11: "11th", 22: "22nd", 112: "112th"}),
        ("decimalEnclosedCircle", {3: "③", 21: "21"}),
        ("none", {4: ""}),
        ("hebrew9", {1: None}),
    ],
)
def test_format_number(form: str, shown: dict[int, str | None]) -> None:
    assert {value: format_number(value, form) for value in shown} == shown


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
