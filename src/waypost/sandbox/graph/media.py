"""Media: upload, lookup, download by a link that is valid for five minutes, and deletion."""

from __future__ import annotations

import hmac
from typing import Any
from urllib.parse import urlencode

import msgspec

from waypost.model.time import minutes
from waypost.ports.platform.clock import Clock, Ids
from waypost.sandbox.edge.asgi import SandboxRequest, SandboxResponse, answer, refused
from waypost.sandbox.edge.graph_errors import MEDIA_UPLOAD, GraphError, bad_parameter, no_such_object
from waypost.sandbox.edge.multipart import FormPart, parts_of
from waypost.sandbox.store.media import UPLOAD_KEPT, MediaStore, SandboxMedia
from waypost.sandbox.store.numbers import Numbers

LINK_VALID_FOR = minutes(5)
DOWNLOAD_PATH = "/whatsapp_business/attachments/"

KIB, MIB = 1024, 1024 * 1024
_OFFICE = "application/vnd.openxmlformats-officedocument."
LARGEST: dict[str, int] = {
    **dict.fromkeys(("audio/aac", "audio/amr", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/opus"), 16 * MIB),
    **dict.fromkeys(("video/mp4", "video/3gpp"), 16 * MIB),
    **dict.fromkeys(("image/jpeg", "image/png"), 5 * MIB),
    "image/webp": 500 * KIB,
    **dict.fromkeys(("application/pdf", "text/plain", "application/msword"), 100 * MIB),
    **dict.fromkeys(("application/vnd.ms-excel", "application/vnd.ms-powerpoint"), 100 * MIB),
    f"{_OFFICE}wordprocessingml.document": 100 * MIB,
    f"{_OFFICE}spreadsheetml.sheet": 100 * MIB,
    f"{_OFFICE}presentationml.presentation": 100 * MIB,
}


class MediaEndpoints:
    def __init__(self, clock: Clock, ids: Ids, numbers: Numbers, store: MediaStore, base_url: str | None) -> None:
        self._clock = clock
        self._ids = ids
        self._numbers = numbers
        self._store = store
        self._base_url = base_url

    def upload(self, request: SandboxRequest, phone_number_id: str) -> SandboxResponse:
        number = self._numbers.allowed(request, phone_number_id)
        if isinstance(number, GraphError):
            return self._refused(number)
        file = uploaded_file(request)
        if isinstance(file, GraphError):
            return self._refused(file)
        return answer(200, {"id": self._store.store(number, file.content, file.content_type or "", UPLOAD_KEPT).id})

    def has(self, media_id: str) -> bool:
        return self._store.get(media_id) is not None

    def look_up(self, request: SandboxRequest, media_id: str) -> SandboxResponse:
        media = self._allowed(request, media_id)
        return self._refused(media) if isinstance(media, GraphError) else answer(200, self._described(request, media))

    def delete(self, request: SandboxRequest, media_id: str) -> SandboxResponse:
        media = self._allowed(request, media_id)
        if isinstance(media, GraphError):
            return self._refused(media)
        self._store.remove(media_id)
        return answer(200, {"success": True})

    def download(self, request: SandboxRequest) -> SandboxResponse:
        if unauthorized := self._numbers.unauthorized(request):
            return self._refused(unauthorized)
        query = request.query
        expires, media = query.get("ext", ""), self._store.get(query.get("mid", ""))
        if media is None or media.token != request.token or query.get("hash") != _seal(media, expires):
            return SandboxResponse(404, b"URL signature mismatch", content_type="text/plain")
        if self._clock.now() > int(expires) * 1_000_000:
            return SandboxResponse(404, b"URL signature expired", content_type="text/plain")
        return SandboxResponse(200, media.content, content_type=media.mime_type)

    def _allowed(self, request: SandboxRequest, media_id: str) -> SandboxMedia | GraphError:
        if unauthorized := self._numbers.unauthorized(request):
            return unauthorized
        media = self._store.get(media_id)
        asked = request.query.get("phone_number_id")
        if media is None or media.token != request.token or asked not in (None, media.phone_number_id):
            return no_such_object(request.method, media_id)
        return media

    def _described(self, request: SandboxRequest, media: SandboxMedia) -> dict[str, Any]:
        base = self._base_url or f"{request.scheme}://{request.header(b'host')}"
        expires = str((self._clock.now() + LINK_VALID_FOR) // 1_000_000)
        link = urlencode({"mid": media.id, "ext": expires, "hash": _seal(media, expires)})
        return {
            "url": f"{base.rstrip('/')}{DOWNLOAD_PATH}?{link}",
            "mime_type": media.mime_type,
            "sha256": media.digest.hex(),
            "file_size": len(media.content),
            "id": media.id,
            "messaging_product": "whatsapp",
        }

    def _refused(self, refusal: GraphError) -> SandboxResponse:
        return refused(refusal, self._ids.token(12))


def _seal(media: SandboxMedia, expires: str) -> str:
    return hmac.digest(media.key.encode(), f"{media.id}:{expires}".encode(), "sha256").hex()


def uploaded_file(request: SandboxRequest) -> FormPart | GraphError:
    """The uploaded file with its MIME type, or the error that Meta would return."""
    parts = parts_of(request.header(b"content-type"), request.body)
    if parts is None:
        return bad_parameter("The request body must be multipart/form-data.")
    product, file = parts.get("messaging_product"), parts.get("file")
    if product is None or product.content != b"whatsapp":
        return bad_parameter("The parameter messaging_product is required.")
    if file is None:
        return bad_parameter("The parameter file is required.")
    mime_type = _mime_type(file, parts.get("type"))
    most = LARGEST.get(mime_type.partition(";")[0].strip().lower())
    if most is None:
        return bad_parameter("Param file must be a file with one of the following types: " + ", ".join(LARGEST) + ".")
    if not 0 < len(file.content) <= most:
        return GraphError(MEDIA_UPLOAD, details=f"File size must be between 1 and {most} bytes for type {mime_type}")
    return msgspec.structs.replace(file, content_type=mime_type)


def _mime_type(file: FormPart, declared: FormPart | None) -> str:
    """The part's own type, unless it is missing or only application/octet-stream."""
    own = file.content_type or ""
    if own and not own.startswith("application/octet-stream"):
        return own
    return declared.content.decode("latin-1") if declared else own
