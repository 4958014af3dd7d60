from collections.abc import Sequence

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
FIRST = 7
"""Number of the first object that a test adds."""


def write_pdf(objects: Sequence[bytes]) -> bytes:
    """Return a file of numbered objects, the first of which is the catalog."""
    content, places = b"%PDF-1.7\n", list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    content += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return content + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        content.rindex(b"xref"),
    )


def stream(content: bytes, about: bytes = b"") -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (about, len(content), content)


def page(
    lines: Sequence[str] | bytes,
    annotations: Sequence[int] = (),
    more: Sequence[bytes] = (),
    *,
    form: str | None = None,
    fonts: str = "",
    about: str = "",
) -> bytes:
    """Return a PDF with one page.

    Args:
        lines: Lines of text, 40 points apart, or the page content.
        annotations: Object numbers of annotations.
        more: Further objects, numbered from FIRST.
        form: Entries of the AcroForm. None: no form.
        fonts: Further fonts, such as `/F2 7 0 R`.
        about: Entries of the page.
    """
    refs = " ".join(f"{number} 0 R" for number in annotations)
    acro_form = (
        "" if form is None else f"/AcroForm << /DA (/F1 12 Tf 0 g) /DR << /Font << /F1 5 0 R >> >> {form} >>"
    )
    drawn = lines if isinstance(lines, bytes) else b"".join(_draw(line, at) for at, line in enumerate(lines))
    return write_pdf(
        [
            f"<< /Type /Catalog /Pages 2 0 R {acro_form} >>".encode(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            (
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
                f"/Annots [{refs}] {about} "
                f"/Resources << /Font << /F1 5 0 R {fonts} >> >> >>"
            ).encode(),
            stream(drawn),
            FONT,
            b"null",
            *more,
        ]
    )


def _draw(line: str, at: int) -> bytes:
    return f"BT /F1 12 Tf 72 {720 - 40 * at} Td ({line}) Tj ET\n".encode()


def appearance(content: str) -> bytes:
    """Return an appearance stream, such as of one line by `shows`."""
    about = b"/Type /XObject /Subtype /Form /BBox [0 0 200 60] /Resources << /Font << /F1 5 0 R >> >>"
    return stream(content.encode(), about)


def shows(text: str) -> bytes:
    return appearance(f"/Tx BMC BT /F1 12 Tf 2 5 Td ({text}) Tj ET EMC")


def widget(entries: str, rect: str = "150 676 350 696") -> bytes:
    return f"<< /Type /Annot /Subtype /Widget /Rect [{rect}] /F 4 /P 3 0 R {entries} >>".encode()


def annotation(kind: str, entries: str, rect: str = "72 600 272 620") -> bytes:
    return f"<< /Type /Annot /Subtype /{kind} /Rect [{rect}] {entries} >>".encode()
