import io
import struct
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
    segment = b"Photoshop 3.0\0" + PHOTOSHOP
    return made[:2] + struct.pack(">BBH", 0xFF, 0xED, len(segment) + 2) + segment + made[2:] + PLACE


def several_jpegs() -> bytes:
    """Build an image as it would be written by some cameras. To find the second image, you need a segment
    of the first one (MPF)."""
    first, second = drawn(640, 480), drawn(64, 48)
    second.info["comment"] = PLACE
    return encoded(first, "MPO", save_all=True, append_images=[second], exif=camera(), icc_profile=PROFILE)


def png() -> bytes:
    """Build an image with each kind of text, EXIF, an unknown chunk, and data after the end."""
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Title", TITLE)
    texts.add_text("Comment", PLACE.decode())
    texts.add_itxt("XML:com.adobe.xmp", XMP.decode())
    texts.add_text("Raw profile type iptc", f"\niptc\n13\n{PLACE.hex()}", zip=True)
    texts.add(b"loCa", PLACE)
    texts.add(b"tIME", struct.pack(">HBBBBB", 2019, 7, 1, 12, 30, 0))
    return encoded(drawn(640, 480), "PNG", pnginfo=texts, exif=camera(), icc_profile=PROFILE) + PLACE


def animated_png() -> bytes:
    frames = [drawn(64, 48).rotate(each) for each in (0, 90, 180)]
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", PLACE.decode())
    return encoded(frames[0], "PNG", save_all=True, append_images=frames[1:], pnginfo=texts, duration=90)


def webp(*, lossless: bool = False) -> bytes:
    said = {"exif": camera(), "xmp": XMP, "icc_profile": PROFILE}
    return encoded(drawn(640, 480), "WEBP", lossless=lossless, **said) + PLACE


def animated_webp() -> bytes:
    frames = [drawn(64, 48, "RGBA").rotate(each) for each in (0, 90, 180)]
    said = {"exif": camera(), "xmp": XMP}
    return encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], **said) + PLACE


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
    options = {"icc_profile": PROFILE, "tiffinfo": said, "compression": compression, **options}
    return encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:], **options) + PLACE


def gif() -> bytes:
    frames = [drawn(64, 48).rotate(each).quantize(64) for each in (0, 90, 180)]
    said = {"comment": PLACE, "duration": 90, "loop": 3}
    return encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], **said) + PLACE


def bmp() -> bytes:
    return encoded(drawn(640, 480), "BMP") + PLACE


def tells(content: bytes) -> bool:
    """Check if the location can still be found in a file."""
    with Image.open(io.BytesIO(content)) as picture:
        picture.load()
        said = [content, str(getattr(picture, "text", "")).encode()]
    forms = (PLACE, PLACE.hex().encode(), b"GPS", b"+02:00")
    return any(form in each for form in forms for each in said)


def frames(content: bytes) -> list[tuple[str, tuple[int, int], bytes]]:
    with Image.open(io.BytesIO(content)) as picture:
        made: list[tuple[str, tuple[int, int], bytes]] = []
        for each in range(getattr(picture, "n_frames", 1)):
            picture.seek(each)
            picture.load()
            made.append((picture.mode, picture.size, picture.convert("RGBA").tobytes()))
    return made
