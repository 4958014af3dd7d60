from collections.abc import Mapping

from tests.support.hostile_files import packed

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument."
_PREFIXES = {
    "w": W,
    "r": REL,
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "wpg": "http://schemas.microsoft.com/office/word/2010/wordprocessingGroup",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "cx": "http://schemas.microsoft.com/office/drawing/2014/chartex",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "dsp": "http://schemas.microsoft.com/office/drawing/2008/diagram",
    "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
    "v": "urn:schemas-microsoft-com:vml",
}
NAMESPACES = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in _PREFIXES.items())
HEADINGS = "".join(
    f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/>'
    f'<w:basedOn w:val="Normal"/><w:pPr><w:outlineLvl w:val="{level - 1}"/></w:pPr></w:style>'
    for level in (1, 2, 3)
)
NORMAL = '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'


def word_file(
    body: str, *, styles: str = "", numbering: str = "", parts: Mapping[str, tuple[str, str]] | None = None
) -> bytes:
    """Write a DOCX file.

    Args:
        body: Content of `w:body`.
        styles: Styles next to Normal and Heading1 to Heading3.
        numbering: Content of `w:numbering`.
        parts: Type and content of each part by relationship id, which is the name of an XML file or of
            another file with its extension.
    """
    named = {"styles": ("styles", f"<w:styles {NAMESPACES}>{NORMAL}{HEADINGS}{styles}</w:styles>")}
    if numbering:
        named["numbering"] = ("numbering", f"<w:numbering {NAMESPACES}>{numbering}</w:numbering>")
    named |= parts or {}
    files = {identity: identity if "." in identity else f"{identity}.xml" for identity in named}
    content_type = {"chart": "drawingml.chart", "diagramData": "drawingml.diagramData"}
    overrides = "".join(
        f'<Override PartName="/word/{files[identity]}" ContentType="{_TYPES}'
        f'{content_type.get(kind, "wordprocessingml." + kind)}+xml"/>'
        for identity, (kind, _) in named.items()
    )
    relations = "".join(
        f'<Relationship Id="{identity}" Type="{REL}/{kind}" Target="{files[identity]}"/>'
        for identity, (kind, _) in named.items()
    )
    document = f"<w:document {NAMESPACES}><w:body>{body}<w:sectPr/></w:body></w:document>"
    types = (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Override PartName="/word/document.xml" '
        f'ContentType="{_TYPES}wordprocessingml.document.main+xml"/>{overrides}</Types>'
    )
    main = f'<Relationship Id="r1" Type="{REL}/officeDocument" Target="word/document.xml"/>'
    namespace = f'xmlns="{_PACKAGE}/relationships"'
    return packed(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": f"<Relationships {namespace}>{main}</Relationships>",
            "word/_rels/document.xml.rels": f"<Relationships {namespace}>{relations}</Relationships>",
            "word/document.xml": document,
            **{f"word/{files[identity]}": content for identity, (_, content) in named.items()},
        }
    )


def run(text: str, properties: str = "") -> str:
    head = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{head}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(
    content: str, style: str = "", properties: str = "", number: tuple[int, int] | None = None
) -> str:
    head = f'<w:pStyle w:val="{style}"/>' if style else ""
    if number:
        head += f'<w:numPr><w:ilvl w:val="{number[1]}"/><w:numId w:val="{number[0]}"/></w:numPr>'
    head += properties
    return f"<w:p>{'<w:pPr>' + head + '</w:pPr>' if head else ''}{content}</w:p>"


def level(at: int, form: str, text: str, *, start: int = 1, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def lists(*abstract: str) -> str:
    return "".join(
        f'<w:abstractNum w:abstractNumId="{at}">{levels}</w:abstractNum>'
        for at, levels in enumerate(abstract)
    ) + "".join(
        f'<w:num w:numId="{at + 1}"><w:abstractNumId w:val="{at}"/></w:num>' for at in range(len(abstract))
    )


def text_box(content: str) -> str:
    """Build a shape with text as it is written by Word 2010: a Choice, and the same text as VML in the
    Fallback."""
    return (
        '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:inline><a:graphic>'
        '<a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><wps:wsp>'
        f"<wps:txbx><w:txbxContent>{content}</w:txbxContent></wps:txbx><wps:bodyPr/></wps:wsp></a:graphicData>"
        "</a:graphic></wp:inline></w:drawing></mc:Choice><mc:Fallback><w:pict><v:rect><v:textbox>"
        f"<w:txbxContent>{content}</w:txbxContent></v:textbox></v:rect></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )


def field(code: str, result: str) -> str:
    return (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        f'<w:r><w:instrText xml:space="preserve"> {code} </w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{result}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
