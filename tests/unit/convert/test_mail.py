import base64
import binascii
import io
from email.message import EmailMessage

import pytest
from PIL import Image

from kg_api.convert import mail
from kg_api.convert.mail import convert
from kg_api.errors import UnreadableDocument
from tests.unit.convert.gate import kinds

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
        'skipped: 2 words of another form of the text (text/html), e.g. "another form"',
        "attachments that were not read: bill.pdf",
    )


def test_html_part_is_read_without_plain_text() -> None:
    got = convert(
        message(plain="", html="<h1>Offer</h1><p>Tea for <b>two</b></p><script>x</script>").as_bytes()
    )
    assert got.text == f"{HEAD}# Offer\n\nTea for two\n"
    assert kinds(got.text) == ["heading", "paragraph"] * 2


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
        "heading", "paragraph", "list_item", "list_item", "paragraph", "list_item", "paragraph",
    ]  # fmt: skip


def test_header_lists_some_recipients_and_empty_body_works() -> None:
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
        b"Subject: =?utf-8?b?a?=",
        b"Subject: =?utf-8?q?a=00b?=",
        b"Content-Disposition: inline; filename*=''%ff",
    ],
)
def test_malformed_headers_do_no_harm(header: bytes) -> None:
    got = convert(b"From: a@example.org\nMessage-ID: <1>\n" + header + b"\n\nThe words of it.\n")
    assert "The words of it." in got.text or got.notes or got.title


TOP = b"From: a@example.org\nSubject: S\nMIME-Version: 1.0\n"


def part(kind: str, content: str | bytes, *headers: str) -> bytes:
    lines = "".join(f"{each}\n" for each in headers)
    return f"Content-Type: {kind}\n{lines}\n".encode() + (
        content.encode() if isinstance(content, str) else content
    )


def multipart(kind: str, *parts: bytes) -> bytes:
    boundary = f"b{abs(hash((kind, parts)))}"
    lines = b"".join(b"--%s\n%s\n" % (boundary.encode(), each) for each in parts)
    return part(f'multipart/{kind}; boundary="{boundary}"', lines + f"--{boundary}--\n".encode())


def body_of(mail: bytes) -> tuple[str, tuple[str, ...]]:
    got = convert(TOP + mail)
    return got.text.removeprefix("# S\n\nFrom: a@example.org\n\n"), got.notes


HTML, WORDS = "text/html", "text/plain"
INNER = b"From: b@example.org\nSubject: Inner\nContent-Type: text/html\n\n<p>model QX-17</p>\n"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            [part(HTML, "<p>failed at 40 bar</p>"), part(WORDS, "To leave write")],
            "failed at 40 bar\n\nTo leave write\n",
        ),
        (
            [part(WORDS, "stopped at 30 knots"), part(HTML, "<p>Scanned</p>")],
            "stopped at 30 knots\n\nScanned\n",
        ),
        (
            [part(HTML, "<p>is red</p>"), part(WORDS, "middle"), part(HTML, "<footer>is green</footer>")],
            "is red\n\nmiddle\n\nis green\n",
        ),
        (
            [part(WORDS, "See below"), part("message/rfc822", INNER), part(WORDS, "Bye")],
            "See below\n\n## Inner\n\nFrom: b@example.org\n\nmodel QX-17\n\nBye\n",
        ),
        (
            [part("message/rfc822", base64.b64encode(INNER), "Content-Transfer-Encoding: base64")],
            "## Inner\n\nFrom: b@example.org\n\nmodel QX-17\n",
        ),
        (
            [part(WORDS, "a"), part('text/plain; name="x.txt"', "inline 7"), part("text/csv", "b;8")],
            "a\n\ninline 7\n\nb;8\n",
        ),
        (
            [
                multipart("alternative", part(WORDS, "  \n"), part(HTML, "<p>opens on 4 May</p>")),
                part(WORDS, "-- \nlist"),
            ],
            "opens on 4 May\n\n--\nlist\n",
        ),
    ],
    ids=[
        "footer", "html footer", "halves", "forwarded", "forwarded as base64", "inline files",
        "blank plain",
    ],
)  # fmt: skip
def test_every_text_part_is_read_in_order(parts: list[bytes], text: str) -> None:
    assert body_of(multipart("mixed", *parts)) == (text, ())


def pair(plain: str, html: str, *more: bytes) -> list[bytes]:
    return [part(WORDS, plain), part(HTML, html), *more]


def lost(count: str, kind: str, example: str) -> tuple[str]:
    return (f'skipped: {count} of another form of the text (text/{kind}), e.g. "{example}"',)


STUB = "This message is in HTML. Your program cannot show it."
SAID = "this message is in html your program cannot show it"
LINK = "Pay now <https://example.org/7>"
NEITHER = part("application/pdf", b"%PDF", 'Content-Disposition: attachment; filename="a.pdf"')


@pytest.mark.parametrize(
    ("parts", "text", "notes"),
    [
        (pair(STUB, "<p>Invoice 8841</p>"), "Invoice 8841", lost("10 words", "plain", SAID)),
        (pair("Pay 1,250 euros.", "<p>Pay <b>1,250</b> euros.</p>"), "Pay 1,250 euros.", ()),
        (pair(LINK, "<p><a href=x>Pay</a> now</p>"), LINK, ()),
        (pair("Short.", "<p>Short. And 12 words.</p>"), "Short. And 12 words.", ()),
        (
            pair("All of it, with code 99.", "<p>All of it, in red.</p>"),
            "All of it, with code 99.",
            lost("2 words", "html", "in red"),
        ),
        (
            [part(WORDS, "One"), multipart("related", part(HTML, "<p>One 2</p>"), part(HTML, "<p>Two</p>"))],
            "One 2\n\nTwo",
            (),
        ),
        (
            [part(WORDS, "Code 99 is yours."), multipart("related", part(HTML, "<p>Code 99</p>"))],
            "Code 99 is yours.",
            (),
        ),
        (
            pair("Meet", "<p>Meet</p>", part("text/calendar", "BEGIN:VCALENDAR")),
            "Meet",
            ("attachments that were not read: text/calendar",),
        ),
        (
            pair("Order 47", "<p>Order 4711 and more</p>"),
            "Order 4711 and more",
            lost("1 word", "plain", "47"),
        ),
        (pair("Only text", "<img src=cid:x>"), "Only text", ()),
        (
            [part(WORDS, "A"), multipart("mixed", part(HTML, "<p>A</p>"), NEITHER, part(HTML, "<p>B 5</p>"))],
            "A\n\nB 5",
            ("attachments that were not read: a.pdf",),
        ),
    ],
    ids=[
        "stub", "same", "links", "more in html", "each has more", "related", "not related", "calendar",
        "number in another", "images only", "halves",
    ],
)  # fmt: skip
def test_of_alternatives_the_fullest_is_read(parts: list[bytes], text: str, notes: tuple[str, ...]) -> None:
    assert body_of(multipart("alternative", *parts)) == (f"{text}\n", notes)


def test_cut_and_unencoded_headers_are_decoded() -> None:
    halves = [base64.b64encode(each).decode() for each in ("für ü".encode()[:2], "für ü".encode()[2:])]
    subject = f"Re: =?utf-8?B?{halves[0]}?=\n =?UTF-8?B?{halves[1]}?= =?iso-8859-1?Q?_10=80?= end"
    got = convert(f"Subject: {subject}\nFrom: Jürgen <j@example.org>\n\nx\n".encode())
    assert got.title == "Re: für ü 10€ end"
    assert got.metadata["author"] == "Jürgen <j@example.org>"


def test_broken_words_of_flowed_text_are_joined() -> None:
    head = (
        "From: a@example.org\r\nSubject: Kettle\r\nContent-Type: text/plain; format=flowed; delsp=yes\r\n\r\n"
    )
    text = "The ket \r\ntle is  \r\nbroken.\r\n> so \r\n> rry\r\n-- \r\nAnn\r\n"
    assert (
        convert(f"{head}{text}".encode()).text
        == "# Kettle\n\nFrom: a@example.org\n\nThe kettle is broken.\n\nsorry\n\n--\nAnn\n"
    )


def uuencode(name: str, content: bytes) -> str:
    lines = [binascii.b2a_uu(content[at : at + 45]).decode() for at in range(0, len(content), 45)]
    return f"begin 644 {name}\n{''.join(lines)}`\nend\n"


def test_uuencoded_files_are_attachments() -> None:
    image = io.BytesIO()
    Image.effect_noise((300, 200), 90).save(image, "PNG")
    files = uuencode("bill no 7.pdf", b"%PDF" * 40) + uuencode("boat.png", image.getvalue())
    made = message(f"See below.\n\n{files}\nbegin 644 letters\nAnn\n", "<p>See below.</p>")
    got = convert(made.as_bytes())
    assert got.text.startswith(f"{HEAD}See below.\n\nbegin 644 letters\nAnn\n\n![boat](")
    assert len(got.images) == 1
    assert got.notes == ("attachments that were not read: bill no 7.pdf",)


def test_uuencoded_names_may_contain_control_characters() -> None:
    file = uuencode("bill\x0b7.pdf", b"%PDF" * 40)
    got = convert(message(f"See below.\n\n{file}").as_bytes())
    assert got.notes == ("attachments that were not read: bill 7.pdf",)


def test_damaged_uuencoded_file_stays_text() -> None:
    damaged = uuencode("bill.pdf", b"%PDF" * 40).replace("M", "MM", 1)
    got = convert(message(f"See below.\n\n{damaged}").as_bytes())
    assert "begin 644 bill.pdf" in got.text
    assert not got.notes


def test_part_without_sender_is_read() -> None:
    part = b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    assert convert(part + base64.b64encode(b"The kettle is broken.")).text == "The kettle is broken.\n"


def test_text_parts_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded, decode = list[bytes](), mail.decode_declared
    monkeypatch.setattr(
        mail, "decode_declared", lambda data, label: decoded.append(data) or decode(data, label)
    )
    convert(message("See below.", "<p>See below.</p>").as_bytes())
    texts = [each for each in decoded if b"See below." in each]
    assert len(texts) == 2


ALL_FORMS = "read all forms of alternatives that have more than 10 forms or are nested more than 5 deep ({})"


def test_nested_alternatives_are_compared_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    compared, split = list[int](), mail.split_tokens
    monkeypatch.setattr(mail, "split_tokens", lambda text: compared.append(len(text)) or split(text))
    nested = part(WORDS, "innermost")
    for level in range(40):
        nested = multipart("alternative", part(WORDS, f"text{level} " * 9), nested)
    text, notes = body_of(nested)
    assert notes[-1] == ALL_FORMS.format(35)
    assert "innermost" in text
    assert "text34" in text
    assert sum(compared) < 6 * len(text)


def test_many_alternatives_are_not_compared() -> None:
    forms = [part(WORDS, f"form{at}") for at in range(11)]
    text, notes = body_of(multipart("alternative", *forms))
    assert text.split() == [f"form{at}" for at in range(11)]
    assert notes == (ALL_FORMS.format(1),)
    assert body_of(multipart("alternative", *forms[:10]))[0] == "form0\n"
