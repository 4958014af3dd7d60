from __future__ import annotations

import pytest

from kg_api.convert.shared.number_format import (
    find_builtin_format,
    format_duration,
    format_number,
    parse_number_format,
    write_digits,
)

GENERAL = {
    "42": "42",
    "0.30000000000000004": "0.3",
    "1.1000000000000001": "1.1",
    "19.989999999999998": "19.99",
    "1234567890123456": "1234567890123456",
    "12345678901234567890": "12345678901234567890",
    "1234567890123456.0": "1234567890123456",
    "1.23456789012345E+15": "1234567890123450",
    "6.0200000000000003E+23": "6.02E+23",
    "1E-3": "0.001",
    "1.5e-9": "1.5E-9",
    "-0.25": "-0.25",
    "1E+400": "1E+400",
    "no number": "no number",
}


@pytest.mark.parametrize("literal", GENERAL)
def test_digits_are_neither_made_up_nor_lost(literal: str) -> None:
    assert write_digits(literal) == GENERAL[literal]


FORMATS = [
    ("0.256", "0.0%", "25.6%"),
    ("0.256", "0%", "25.6%"),
    ("0.07", "0.00%;[Red]-0.00%", "7%"),
    ("-0.07", "0.00%;[Red]-0.00%", "-7%"),
    ("0.5", '0 "%"', "0.5 %"),
    ("42", "00000", "00042"),
    ("7", '"PO-"000', "PO-007"),
    ("123456789", "000-00-0000", "123456789"),
    ("5551234567", "(###) ###-####", "5551234567"),
    ("1234567890123456", "0000 0000 0000 0000", "1234567890123456"),
    ("1234.5", "#,##0.00 [$€-407]", "1234.5 €"),
    ("1234.5", '#,##0.00\\ "€"', "1234.5 €"),
    ("1739.9", '#,##0.00 "€"', "1739.9 €"),
    ("1739.9", "0.00", "1739.9"),
    ("1739.9", "#,##0", "1739.9"),
    ("-5", "$#,##0.00", "-$5"),
    ("-5", "[$USD] #,##0.00;[Red]([$USD] #,##0.00)", "-USD 5"),
    ("0", '_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', "0 €"),
    ("-3", "0;[Red]0", "-3"),
    ("5", '0.0" kg"', "5 kg"),
    ("12", "0.00 EUR", "12 EUR"),
    ("5", 'General" m²"', "5 m²"),
    ("1234567", '0.0,,"M"', "1234567"),
    ("1234567", "#,##0", "1234567"),
    ("0.5", "# ?/?", "0.5"),
    ("0.51", "# ??/100", "0.51"),
    ("123456", "0.00E+00", "123456"),
    ("1", '"Yes";;"No"', "1"),
    ("0", '"Yes";;"No"', "0"),
    ("2", '[=1]0" item";0" items"', "2"),
    ("5", ";;;", "5"),
    ("45356", "m/d/yy", "2024-03-05"),
    ("45356", "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "2024-03-05"),
    ("45356", 'ggge"年"m"月"d"日"', "2024-03-05"),
    ("45356.395833333336", "yyyy\\-mm\\-dd hh:mm;@", "2024-03-05 09:30:00"),
    ("45356.395833333336", "h:mm", "2024-03-05 09:30:00"),
    ("0.39583333333333331", "h:mm AM/PM", "09:30:00"),
    ("59", "d/m/yyyy", "1900-02-28"),
    ("61", "d/m/yyyy", "1900-03-01"),
    ("1.5", "[h]:mm", "36:00:00"),
    ("0.0005150462962962963", "mm:ss.0", "00:00:44.5"),
    ("-1", "yyyy-mm-dd", "-1"),
    ("99999999999", "yyyy-mm-dd", "99999999999"),
]  # fmt: skip


@pytest.mark.parametrize(("literal", "code", "shown"), FORMATS)
def test_number_format_is_applied(literal: str, code: str, shown: str) -> None:
    assert format_number(literal, parse_number_format(code)) == shown


def test_builtin_formats_dates_of_old_macs_and_text() -> None:
    assert format_number("0.5", find_builtin_format(9)) == "50%"
    assert format_number("45356", find_builtin_format(14)) == "2024-03-05"
    assert format_number("1.25", find_builtin_format(46)) == "30:00:00"
    assert format_number("45356", find_builtin_format(31)) == "2024-03-05"
    assert format_number("0.1", find_builtin_format(200)) == "0.1"
    assert format_number("43894", find_builtin_format(14), since_1904=True) == "2024-03-05"
    assert format_duration(-5400.25) == "-01:30:00.25"
