"""Bytes to text and back, so that an edit leaves every other byte as it was.

It must not know documents. What can hurt: a Chinese editor's code page read as UTF-8 destroys every heading; a BOM or
line end that is not put back changes a whole file for one edited line. So nothing is cleaned here, NULs included, and
only encodings are tried that give back the very bytes they took.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text without its BOM, line ends as they are in the file.

    `encoding` is a Python name, `bom` the bytes in front, `newline` the line end that is most used ("\\n" when there is
    none). `exact` is False when bytes were replaced by U+FFFD: such a text must not be written back over its file.
    """

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    newline: str = "\n"
    exact: bool = True


def decode(data: bytes) -> Decoded:
    """Return the text of a file: UTF-8, UTF-16 or UTF-32 by BOM, else UTF-8, else GB18030. Never raises."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            body = data[len(bom) :]
            text = _exactly(body, encoding)
            if text is not None:
                return Decoded(text, encoding, bom, _newline(text))
            text = body.decode(encoding, "replace")
            return Decoded(text, encoding, bom, _newline(text), exact=False)
    for encoding in ("utf-8", "gb18030"):
        text = _exactly(data, encoding)
        if text is not None:
            return Decoded(text, encoding, b"", _newline(text))
    text = data.decode("utf-8", "replace")
    return Decoded(text, "utf-8", b"", _newline(text), exact=False)


def encode(text: str, decoded: Decoded) -> bytes:
    """Return the bytes of an edited text, in the encoding and with the BOM of the file it came from.

    Line ends are written as they stand in `text`: use `decoded.newline` for new lines. Characters that the encoding
    does not have (lone surrogates) become "?". `encode(d.text, d)` gives the very bytes back when `d.exact`.
    """
    return decoded.bom + text.encode(decoded.encoding, "replace")


def _exactly(data: bytes, encoding: str) -> str | None:
    """Return the text, None when the bytes are not all of this encoding."""
    try:
        return data.decode(encoding)
    except UnicodeError:
        return None


def _newline(text: str) -> str:
    """Return the line end that is used most; LF for a text of one line."""
    windows = text.count("\r\n")
    counts = {"\n": text.count("\n") - windows, "\r\n": windows, "\r": text.count("\r") - windows}
    return max(counts, key=lambda end: counts[end])
