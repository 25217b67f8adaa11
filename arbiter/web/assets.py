"""Files that all pages use: made once, and kept by browsers for good, because their addresses name their content."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from arbiter.web.boards import style_sheet

STATIC: Final = Path(__file__).parent / "static"
FOR_EVER: Final = "public, max-age=31536000, immutable"
ASK_AGAIN: Final = "no-cache"


class Asset:
    """A file at a path. `address`: its path with the hash of its content, which pages refer to."""

    def __init__(self, path: str, content: bytes, media_type: str) -> None:
        digest = hashlib.sha256(content).hexdigest()[:16]
        self.address: Final = f"{path}?{digest}"
        self._etag = f'"{digest}"'
        self._plain, self._packed = content, gzip.compress(content, mtime=0)
        self._media_type = media_type

    async def answer(self, request: Request) -> Response:
        """Return the file; or 304 if the browser has it already."""
        kept = FOR_EVER if request.url.query == self._etag.strip('"') else ASK_AGAIN
        headers = {"cache-control": kept, "etag": self._etag, "vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == self._etag:
            return Response(status_code=304, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(self._plain, headers=headers, media_type=self._media_type)
        return Response(self._packed, headers={**headers, "content-encoding": "gzip"}, media_type=self._media_type)


@cache
def assets() -> Mapping[str, Asset]:
    """Return the files by path."""
    files = {
        "/static/page.css": ((STATIC / "page.css").read_bytes() + style_sheet().encode(), "text/css"),
        "/static/page.js": ((STATIC / "page.js").read_bytes(), "text/javascript"),
        "/static/icon.svg": ((STATIC / "icon.svg").read_bytes(), "image/svg+xml"),
    }
    return {path: Asset(path, content, media_type) for path, (content, media_type) in files.items()}
