"""Files that people have written, as text. The client, which stands alone, has `arbiter_client.text_files`."""

from __future__ import annotations

import codecs


def text_of(data: bytes) -> str:
    """Return the content of a file as text, without a byte-order mark, and with a line feed at the end of each line.

    Raises ValueError if it is not UTF-8; the text says which encoding it seems to be, where, and what to do.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data:
        raise ValueError("it is text in UTF-16, or has zero bytes: save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        letter = data[error.start : error.start + 1]
        seems = f"the byte 0x{letter.hex()}, which is {letter.decode('latin-1')!r} in Latin-1 and nothing in UTF-8"
        raise ValueError(f"line {line} has {seems}: save the file as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
