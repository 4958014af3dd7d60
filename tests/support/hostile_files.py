import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

import psutil

NEEDED = {
    "docx": "word/document.xml",
    "pptx": "ppt/presentation.xml",
    "xlsx": "xl/workbook.xml",
    "ods": "content.xml",
    "epub": "META-INF/container.xml",
}
"""Signature for a type of ZIP archive."""
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 20}">' for n in range(8))
    + "]><x>&i;</x>"
)
EXTERNAL = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'


def packed(entries: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


def replaced(data: bytes, entries: Mapping[str, str | bytes]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return packed({**{name: archive.read(name) for name in archive.namelist()}, **entries})


def overlapping(name: str, count: int = 250, size: int = 20_000_000) -> bytes:
    """Build an archive with many entries that use the same bytes: 5 GB from 25 kB, like the bomb by
    Fifield."""
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    kernel = squeezer.compress(bytes(size)) + squeezer.flush()
    check = zlib.crc32(bytes(size))
    names = [name.encode(), *(f"{n}".encode() for n in range(count))]
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, check, len(kernel), size, len(names[0]), 0)
    body = local + names[0] + kernel
    return body + _directory([_record(each, check, len(kernel), size) for each in names], len(body))


def crowded(name: str, count: int = 1_000_000) -> bytes:
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0) + name.encode()
    return local + _directory([_record(name.encode(), 0, 0, 0)] * count, len(local))


def _record(name: bytes, check: int, packed_: int, size: int) -> bytes:
    numbers = (20, 20, 0, 8 if packed_ else 0, 0, 0, check, packed_, size, len(name), 0, 0, 0, 0, 0, 0)
    return struct.pack("<4s6H3I5H2I", b"PK\1\2", *numbers) + name


def _directory(records: list[bytes], at: int) -> bytes:
    written, count = b"".join(records), len(records)
    large = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(written), at)
    place = struct.pack("<4sIQI", b"PK\6\7", 0, at + len(written), 1)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return written + large + place + end


def nested(levels: int = 8) -> bytes:
    """Build a ZIP archive with ten copies of a ZIP archive at each level."""
    inner = packed({"0": bytes(1_000_000)})
    for _ in range(levels):
        inner = packed({f"{n}.zip": inner for n in range(10)})
    return inner


def pdf(objects: Mapping[int, str]) -> bytes:
    body = "".join(f"{number} 0 obj\n{content}\nendobj\n" for number, content in objects.items())
    return f"%PDF-1.7\n{body}trailer\n<< /Root 1 0 R /Size {len(objects) + 1} >>\n%%EOF\n".encode("latin-1")


FONT = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"


def pdf_of_pages(count: int, more: str = "") -> bytes:
    kids = " ".join(f"{number} 0 R" for number in range(4, 4 + count))
    shown = "BT /F 12 Tf 72 700 Td (Some words of a page) Tj ET"
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 3 0 R /Resources {FONT} >>"
    return pdf(
        {
            1: f"<< /Type /Catalog /Pages 2 0 R {more} >>",
            2: f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
            3: f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
            **dict.fromkeys(range(4, 4 + count), page),
        }
    )


def pdf_of_loops() -> bytes:
    page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources 6 0 R >>"
    return pdf(
        {
            1: "<< /Type /Catalog /Pages 2 0 R /Outlines 7 0 R >>",
            2: "<< /Type /Pages /Kids [3 0 R 2 0 R 2 0 R] /Count 1000 /Parent 2 0 R >>",
            3: page,
            4: "<< /Subtype /Form /BBox [0 0 9 9] /Resources 6 0 R /Length 5 >>\nstream\n/X Do\nendstream",
            5: "<< /Length 5 >>\nstream\n/X Do\nendstream",
            6: "<< /XObject << /X 4 0 R >> >>",
            7: "<< /First 8 0 R /Last 8 0 R >>",
            8: "<< /Title (again) /Parent 7 0 R /Next 8 0 R /First 8 0 R /Dest 8 0 R >>",
        }
    )


def newest_reader() -> psutil.Process:
    """Return the child that the last pool started. Pools of earlier tests may have children that remain."""
    children = (each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE)
    readers = (each for each in children if "convert.isolated" in " ".join(each.cmdline()))
    return max(readers, key=psutil.Process.create_time)
