from __future__ import annotations

import pytest

from kg_api.convert.pdf import convert
from tests.unit.convert.pdf.raw_pdf import annotation, appearance, page, shows, widget

TEXT = ["The licence of the crane:", "Name:", "It ends in May."]
DRAWN = "/AP << /N 8 0 R >>"
FIELDS = "/Fields [7 0 R]"


def field(entries: str, *more: bytes, form: str = FIELDS, rect: str = "150 676 350 696") -> str:
    """Return the text of a page with one field in its second line."""
    made = convert(page(TEXT, [7], [widget(entries, rect), *more], form=form))
    assert made.notes == ()
    return made.text.replace("\n\n", " | ")


def line(value: str) -> str:
    return f"The licence of the crane: | Name: {value} | It ends in May."


@pytest.mark.parametrize(
    ("entries", "drawn", "value"),
    [
        ("/FT /Tx /T (a) /V (Sample Ltd 42)", "Sample Ltd 42", "Sample Ltd 42"),
        ("/FT /Tx /T (a) /V (Sample Ltd 42)", None, "Sample Ltd 42"),
        ("/FT /Tx /T (a) /V (1234.5)", "1,234.50 EUR", "1234.5"),
        ("/FT /Tx /T (a) /V (Sample Ltd 42, harbour 7)", "Sample Ltd 42, har", "Sample Ltd 42, harbour 7"),
        ("/FT /Ch /Ff 131072 /T (a) /Opt [(Lisbon) (Porto)] /V (Porto)", "Porto", "Porto"),
        ("/FT /Ch /Ff 131072 /T (a) /Opt [[(1) (Lisbon)] [(2) (Porto)]] /V (2)", None, "Porto"),
        ("/FT /Ch /Ff 393216 /T (a) /Opt [(Lisbon)] /V (Faro)", None, "Faro"),
        (
            "/FT /Ch /Ff 2097152 /T (a) /Opt [(Lisbon) (Porto) (Faro)] /V [(Lisbon) (Faro)]",
            None,
            "Lisbon, Faro",
        ),
    ],
)
def test_form_value_is_placed_in_its_line(entries: str, drawn: str | None, value: str) -> None:
    more = () if drawn is None else (shows(drawn),)
    assert field(f"{entries} {DRAWN if more else ''}", *more) == line(value)


def test_value_is_inherited_from_the_field() -> None:
    parent = b"<< /FT /Tx /T (a) /V (Sample Ltd 42) /Kids [7 0 R] >>"
    assert field("/Parent 8 0 R", parent, form="/Fields [8 0 R]") == line("Sample Ltd 42")


def test_password_is_not_shown() -> None:
    assert "secret" not in field("/FT /Tx /Ff 8192 /T (a) /V (secret)")
    assert "*" not in field(f"/FT /Tx /Ff 8192 /T (a) /V (secret) {DRAWN}", shows("******"))


@pytest.mark.parametrize("flags", [2, 32])
def test_hidden_form_field_is_omitted(flags: int) -> None:
    data = page(
        TEXT, [7], [widget(f"/FT /Tx /T (a) /V (hidden 42) {DRAWN}"), shows("hidden 42")], form=FIELDS
    )
    assert "42" not in convert(data.replace(b"/F 4 ", b"/F %d " % flags)).text


@pytest.mark.parametrize(("state", "mark"), [("Yes", "☒"), ("Off", "☐")])
def test_box_is_checked_or_not(state: str, mark: str) -> None:
    drawn = "/AP << /N << /Yes 8 0 R /Off 9 0 R >> >>"
    entries = f"/FT /Btn /T (a) /V /{state} /AS /{state} {drawn}"
    made = field(entries, shows("4"), appearance(""), rect="110 676 122 688")
    assert made == line(mark)


def test_chosen_radio_button_is_marked() -> None:
    button = "/Parent 9 0 R /AS /{} /AP << /N << /{} 10 0 R >> >>"
    objects = [
        widget(button.format("a", "a"), "110 676 122 688"),
        widget(button.format("Off", "b"), "110 636 122 648"),
        b"<< /FT /Btn /Ff 49152 /T (pier) /V /a /Kids [7 0 R 8 0 R] >>",
        shows("l"),
    ]
    text = convert(page(["Pier", "East", "West"], [7, 8], objects, form="/Fields [9 0 R]")).text
    assert [each for each in text.replace("\n\n", "\n").split("\n") if each] == ["Pier", "East ☒", "West ☐"]


@pytest.mark.parametrize(
    ("shown", "form"),
    [
        (widget(f"/FT /Sig /T (a) {DRAWN}"), FIELDS),
        (widget(f"/FT /Btn /Ff 65536 /T (a) {DRAWN}"), FIELDS),
        (annotation("Stamp", DRAWN), None),
        (annotation("FreeText", DRAWN), None),
    ],
    ids=["signature", "button", "stamp", "text"],
)
def test_what_is_only_drawn_is_noted(shown: bytes, form: str | None) -> None:
    made = convert(page(TEXT, [7], [shown, shows("Signed by Ada on 7 May")], form=form))
    assert made.notes == ("skipped: signatures, stamps, and buttons that are only drawn (1)",)


@pytest.mark.parametrize(
    ("kind", "entries", "drawn"),
    [
        ("FreeText", "/Contents (Moved to sheet 9) /DA (/F1 12 Tf 0 g)", "Moved to sheet 9"),
        ("FreeText", "/Contents (Moved to sheet 9) /DA (/F1 12 Tf 0 g)", None),
        ("Stamp", "/Contents (Moved to sheet 9)", None),
    ],
)
def test_text_on_the_page_is_read(kind: str, entries: str, drawn: str | None) -> None:
    shown = annotation(kind, f"{entries} {DRAWN if drawn else ''}", "72 690 272 710")
    made = convert(page(["Plan of the harbour", "approved by the board"], [7], [shown, shows(drawn or "")]))
    assert " ".join(made.text.split()) == "Plan of the harbour Moved to sheet 9 approved by the board"
    assert made.notes == ()


def test_comments_are_counted_with_an_example() -> None:
    objects = [
        annotation("Text", "/Contents (It must be 7 May)"),
        annotation("Highlight", "/Contents (Ask the board)"),
        annotation("Highlight", ""),
        annotation("Popup", "/Contents (It must be 7 May)"),
        annotation("Text", "/Contents (deleted) /F 2"),
        annotation("Link", "/Contents (a link)"),
    ]
    made = convert(page(["The meeting is on 6 May"], range(7, 13), objects))
    assert made.text == "The meeting is on 6 May"
    assert made.notes == ('skipped: 2 comments on page 1, e.g. "It must be 7 May"',)


def test_xfa_form_is_reported() -> None:
    made = convert(page(["Please wait"], [], [b"(x)"], form="/Fields [] /XFA 7 0 R"))
    assert [each.partition(".")[0] for each in made.notes] == ["skipped: the content of the XFA form"]
