from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from PIL import Image, ImageCms, PngImagePlugin, TiffImagePlugin

from tests.support.images import drawn, encoded, exif

PLACE = b"Klabautersiel"
"""Location to use. You cannot find it in these files in any other place."""
TITLE, TAKEN, ORIENTATION = "A red boat", "2019:07:01 12:30:00", 6
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
IPTC = b"\x1c\x02\x5a" + struct.pack(">H", len(PLACE)) + PLACE
PHOTOSHOP = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(IPTC)) + IPTC
XMP = (
    b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:Description photoshop:City='" + PLACE + b"'>"
    b"<Iptc4xmpExt:LocationCreated><rdf:Bag><rdf:li Iptc4xmpExt:Sublocation='" + PLACE + b"'/></rdf:Bag>"
    b"</Iptc4xmpExt:LocationCreated></rdf:Description></x:xmpmeta>"
)


def camera() -> bytes:
    said = Image.Exif()
    said.load(exif({0x0112: ORIENTATION, 0x010E: TITLE, 0x013B: "Ada", 0xC000: PLACE}, gps=True, taken=TAKEN))
    said.get_ifd(0x8769)[0x927C] = PLACE
    said.get_ifd(0x8769)[0x9011] = "+02:00"
    return said.tobytes()


def jpeg(picture: Image.Image | None = None, **options: Any) -> bytes:
    said = {"exif": camera(), "xmp": XMP, "comment": PLACE, "icc_profile": PROFILE, "quality": 95}
    made = encoded(picture or drawn(640, 480), "JPEG", **said | options)
    extended = b"http://ns.adobe.com/xmp/extension/\0" + b"0" * 40 + XMP
    more = [
        (0xED, b"Photoshop 3.0\0" + PHOTOSHOP),
        (0xE1, extended),
        (0xE2, b"FPXR\0" + PLACE),
        (0xEC, PLACE),
    ]
    segments = b"".join(struct.pack(">BBH", 0xFF, kind, len(said) + 2) + said for kind, said in more)
    return made[:2] + segments + made[2:] + encoded(drawn(), "JPEG", comment=PLACE) + PLACE


def several_jpegs() -> bytes:
    """Build an image as it would be written by some cameras. To find the second image, you need a segment
    of the first one (MPF)."""
    first, second = drawn(640, 480), drawn(64, 48)
    second.info["comment"] = PLACE
    return encoded(first, "MPO", save_all=True, append_images=[second], exif=camera(), icc_profile=PROFILE)


def png() -> bytes:
    """Build an image with each kind of text, two EXIF blocks, an unknown chunk, and data after the
    end."""
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Title", TITLE)
    texts.add_text("Comment", PLACE.decode())
    texts.add_itxt("XML:com.adobe.xmp", XMP.decode())
    texts.add_itxt("XML:com.adobe.xmp", XMP.decode(), zip=True)
    for profile in ("iptc", "exif", "APP1", "xmp"):
        texts.add_text(f"Raw profile type {profile}", f"\n{profile}\n13\n{PLACE.hex()}", zip=profile != "xmp")
    texts.add(b"loCa", PLACE)
    texts.add(b"tIME", struct.pack(">HBBBBB", 2019, 7, 1, 12, 30, 0))
    picture = drawn(640, 480)
    return encoded(picture, "PNG", pnginfo=texts, exif=camera(), icc_profile=PROFILE) + PLACE


def animated_png() -> bytes:
    frames = [drawn(64, 48).rotate(each) for each in (0, 90, 180)]
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", PLACE.decode())
    return encoded(frames[0], "PNG", save_all=True, append_images=frames[1:], pnginfo=texts, duration=90)


def webp(*, lossless: bool = False) -> bytes:
    made = encoded(drawn(640, 480), "WEBP", exif=camera(), xmp=XMP, icc_profile=PROFILE, lossless=lossless)
    return _riff(made[12:] + _riff_chunk(b"LOCA", PLACE)) + PLACE


def animated_webp() -> bytes:
    frames = [drawn(64, 48, "RGBA").rotate(each) for each in (0, 90, 180)]
    made = encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], xmp=XMP, exif=camera())
    chunks, at = list[bytes](), 12
    while at < len(made):
        kind, size = struct.unpack_from("<4sI", made, at)
        content = made[at + 8 : at + 8 + size]
        more = _riff_chunk(b"LOCA", PLACE) if kind == b"ANMF" else b""
        chunks.append(_riff_chunk(kind, content + more))
        at += 8 + size + size % 2
    return _riff(b"".join(chunks))


def tiff(compression: str = "raw", mode: str = "RGB", **options: Any) -> bytes:
    pages = [drawn(640, 480, mode), drawn(64, 48, mode)]
    said = TiffImagePlugin.ImageFileDirectory_v2()
    said[33723], said[34377], said[700] = IPTC, PHOTOSHOP, XMP
    said.tagtype |= {33723: 7, 34377: 7, 700: 1}
    said[34737], said[33922] = PLACE.decode(), (0.0, 0.0, 0.0, 13.41, 52.52, 0.0)
    said.tagtype |= {34737: 2, 33922: 12}
    camera_said = Image.Exif()
    camera_said.load(exif({0x0112: ORIENTATION, 0x010E: TITLE}, gps=True, taken=TAKEN))
    for tag in (0x0112, 0x010E):
        said[tag] = camera_said[tag]
    if compression == "raw":  # libtiff writes no directories within
        said[0x8769], said[0x8825] = dict(camera_said.get_ifd(0x8769)), dict(camera_said.get_ifd(0x8825))
    options = {"icc_profile": PROFILE, **options}
    return (
        encoded(
            pages[0],
            "TIFF",
            save_all=True,
            append_images=pages[1:],
            tiffinfo=said,
            compression=compression,
            **options,
        )
        + PLACE
    )


def gif() -> bytes:
    frames = [drawn(64, 48).rotate(each).quantize(64) for each in (0, 90, 180)]
    made = encoded(
        frames[0], "GIF", save_all=True, append_images=frames[1:], comment=PLACE, duration=90, loop=3
    )
    magic = b"\x01" + bytes(range(255, -1, -1)) + b"\0"
    return made[:-1] + b"\x21\xff\x0bXMP DataXMP" + XMP + magic + b"\x3b" + PLACE


def bmp() -> bytes:
    return encoded(drawn(640, 480), "BMP") + PLACE


def bmp_with_profile() -> bytes:
    """Build a version 5 image that links to a profile before the pixels, with data after the end."""
    made = encoded(drawn(640, 480), "BMP")
    linked = struct.pack("<4s48x4I", b"KNIL", 4, 124, len(PLACE), 0)
    head = struct.pack("<I", 124) + made[18:54] + bytes(16) + linked
    offset = 14 + len(head) + len(PLACE)
    return made[:6] + PLACE[:4] + struct.pack("<I", offset) + head + PLACE + made[54:] + PLACE


def bmp_of_runs(bits: int) -> bytes:
    """Build an image that is run-length encoded, with more colours than fit into half a byte and data
    after the end."""
    picture = drawn(203, 50, "L").quantize(1 << bits)
    rows = [picture.crop((0, y, 203, y + 1)).tobytes() for y in reversed(range(50))]
    pixels = b"".join(_runs(row, bits) for row in rows) + b"\0\1"
    palette = b"".join(struct.pack("<I", 65536 * (at % 7) + at) for at in range(1 << bits)) + PLACE + b"xy"
    colours = 256 if bits == 8 else 19
    compression = {8: 1, 4: 2}[bits]
    head = struct.pack("<IiiHHIIiiII", 40, 203, 50, 1, bits, compression, len(pixels), 0, 0, colours, 0)
    offset = 14 + len(head) + len(palette)
    return struct.pack("<2sIII", b"BM", offset + len(pixels), 0, offset) + head + palette + pixels + PLACE


def bmp_without_an_end() -> bytes:
    """Build an image that is run-length encoded without an end marker. The data after it looks
    similar."""
    made = bmp_of_runs(8)
    return made.replace(b"\0\1" + PLACE, b"\4A" + PLACE + b"!")


def _runs(row: bytes, bits: int) -> bytes:
    as_they_are = (
        row[3:200]
        if bits == 8
        else bytes(a << 4 | b for a, b in zip(row[3:200:2], [*row[4:200:2], 0], strict=True))
    )
    padding = bytes(len(as_they_are) % 2)
    value = row[0] if bits == 8 else row[0] * 17
    return bytes([3, value, 0, 197]) + as_they_are + padding + bytes([0, 2, 1, 0, 2, value, 0, 0])


def tells(content: bytes) -> bool:
    """Check if the location can still be found in a file, in any of the formats."""
    forms = (PLACE, PLACE.hex().encode(), b"GPS", b"+02:00")
    said = [content, *_unpacked(content)]
    return any(form in each for form in forms for each in said)


def _unpacked(content: bytes) -> list[bytes]:
    made, at = list[bytes](), 8
    while content.startswith(b"\x89PNG") and at + 12 <= len(content):
        size, kind = struct.unpack_from(">I4s", content, at)
        if kind in {b"zTXt", b"iTXt"}:
            made += _inflated(content[at + 8 : at + 8 + size])
        at += 12 + size
    return made


def _inflated(chunk: bytes) -> list[bytes]:
    for start in range(len(chunk)):
        try:
            return [zlib.decompress(chunk[start:])]
        except zlib.error:
            continue
    return []


def _riff(chunks: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WEBP" + chunks


def _riff_chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def frames(content: bytes) -> list[tuple[str, tuple[int, int], bytes]]:
    with Image.open(io.BytesIO(content)) as picture:
        made: list[tuple[str, tuple[int, int], bytes]] = []
        for each in range(getattr(picture, "n_frames", 1)):
            picture.seek(each)
            picture.load()
            made.append((picture.mode, picture.size, picture.convert("RGBA").tobytes()))
    return made
