from __future__ import annotations

from email.message import EmailMessage

import pytest

from kg_api.convert.mail import convert
from kg_api.errors import UnreadableDocument
from tests.unit.convert.gate import assert_refuses_bad_bytes, kinds

PLAIN = """Hello Bob,

the kettle is broken,
since Monday:

- it leaks
- it hums

# not a heading

On Sunday Bob wrote:
> How is the kettle,
> dear Ann?
>> Grüße

--
Ann
"""


HEAD = (
    "# Kettle – broken\n\nFrom: Ann Lée <ann@example.org>\nTo: Bob <bob@example.org>, carol@example.org\n"
    "Cc: Dan <dan@example.org>\nDate: Tue, 05 Mar 2024 10:00:00 +0100\n\n"
)


def message(plain: str = PLAIN, html: str = "", charset: str = "utf-8") -> EmailMessage:
    made = EmailMessage()
    made["From"] = "Ann Lée <ann@example.org>"
    made["To"] = "Bob <bob@example.org>, carol@example.org"
    made["Cc"] = "Dan <dan@example.org>"
    made["Subject"] = "Kettle – broken"
    made["Date"] = "Tue, 05 Mar 2024 10:00:00 +0100"
    if plain:
        made.set_content(plain, charset=charset)
    if html:
        made.add_alternative(html, subtype="html") if plain else made.set_content(html, subtype="html")
    return made


def test_a_message_as_markdown() -> None:
    made = message(html="<p>Another form</p>")
    made.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="bill.pdf")
    got = convert(made.as_bytes())
    assert got.text == (
        f"{HEAD}Hello Bob,\n\nthe kettle is broken,\nsince Monday:\n\n- it leaks\n- it hums\n\n"
        "\\# not a heading\n\n"
        "On Sunday Bob wrote:\n\nHow is the kettle,\ndear Ann?\n\nGrüße\n\n--\nAnn\n"
    )
    assert got.title == "Kettle – broken"
    assert got.metadata == {
        "author": "Ann Lée <ann@example.org>",
        "to": ["Bob <bob@example.org>", "carol@example.org"],
        "cc": ["Dan <dan@example.org>"],
        "date": "2024-03-05T10:00:00+01:00",
    }
    assert got.notes == (
        'left out: 2 words of another form of the text (text/html), e.g. "Another form"',
        "attachments that were not read: bill.pdf",
    )


def test_html_is_read_where_there_is_no_plain_text() -> None:
    got = convert(
        message(plain="", html="<h1>Offer</h1><p>Tea for <b>two</b></p><script>x</script>").as_bytes()
    )
    assert got.text == f"{HEAD}# Offer\n\nTea for two\n"
    assert kinds(got.text) == ["heading", "paragraph"] * 2


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "cp1252"])
def test_charsets(charset: str) -> None:
    assert (
        convert(message("Schöne Grüße aus Köln", charset=charset).as_bytes()).text
        == f"{HEAD}Schöne Grüße aus Köln\n"
    )


def test_lines_stay_lines_and_make_no_other_blocks() -> None:
    plain = (
        "  * 4 mm\nPrice per item\n# wood 12 EUR\n  * 5 mm\n\nRecipient: X\n===\nReason: Y\n---\n- z\n\n===\n"
    )
    got = convert(message(plain).as_bytes()).text
    assert got == (
        f"{HEAD}- 4 mm\n  Price per item\n  \\# wood 12 EUR\n- 5 mm\n\n"
        "Recipient: X\n\\===\nReason: Y\n\\---\n\n- z\n\n===\n"
    )
    assert kinds(got) == [
        "heading",
        "paragraph",
        "list_item",
        "list_item",
        "paragraph",
        "list_item",
        "paragraph",
    ]


def test_flowed_lines_are_joined_where_they_go_on() -> None:
    made = message("A line that \ngoes on.\nAnother.\n> quoted and \n> on \nAnn's own.\n-- \nAnn\n")
    made.set_param("format", "flowed")
    assert convert(made.as_bytes()).text == (
        f"{HEAD}A line that goes on.\nAnother.\n\nquoted and on\n\nAnn's own.\n\n--\nAnn\n"
    )


def test_the_head_names_some_of_many_people_and_stands_alone_where_nothing_is_written() -> None:
    made = message("")
    made.replace_header("To", ", ".join(f"p{n}@example.org" for n in range(25)))
    got = convert(made.as_bytes())
    assert "p19@example.org and 5 more\nCc: " in got.text
    assert "p20" not in got.text
    assert len(got.metadata["to"]) == 25  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnreadableDocument, match="neither a subject nor a text"):
        convert(b"From: a@b.example\nTo: c@d.example\n\n\n")


def test_forwarded_messages_are_read_and_deep_ones_end() -> None:
    outer = message("See below.")
    outer.add_attachment(message("The inner words."))
    got = convert(outer.as_bytes())
    assert f"See below.\n\n#{HEAD}The inner words." in got.text
    deep = b"".join(
        b'From: a@b.c\nSubject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="%d"\n\n--%d\n'
        % (i, i)
        for i in range(400)
    )
    with pytest.raises(UnreadableDocument):
        convert(b"nonsense" + deep[4:8])
    assert convert(deep + b"\nwords").title == "x"


@pytest.mark.parametrize(
    "header",
    [
        b"To: <<>>,;:@[",
        b"Date: never",
        b"Content-Type: text/plain; charset=\xff",
        b"Subject: =?utf-8?b?////?=",
        b"Content-Disposition: inline; filename*=''%ff",
    ],
)
def test_malformed_headers_do_no_harm(header: bytes) -> None:
    got = convert(b"From: a@example.org\nMessage-ID: <1>\n" + header + b"\n\nThe words of it.\n")
    assert "The words of it." in got.text or got.notes or got.title


def test_bad_bytes_are_refused() -> None:
    assert_refuses_bad_bytes(convert, message().as_bytes())
