"""/api/v1/media: customers' files, handed out so that a browser never takes one for a page of ours."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, get, post
from litestar.di import Provide
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import PathParameter, QueryParameter
from litestar.response import Stream

from waypost.flow import fetch_media
from waypost.flow.world import World
from waypost.http.context import Asking, Here, reader, writer
from waypost.http.documented import problems
from waypost.http.outbound import LARGEST_ID
from waypost.http.problems import Problem
from waypost.http.views import shown
from waypost.model.ids import OrgId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import to_datetime
from waypost.rules import serving
from waypost.rules.serving import Part, Unsatisfiable

Id = Annotated[int, PathParameter(description="A file's id")]
_FILE = ResponseSpec(bytes, description="The file", media_type="*/*", generate_examples=False)
_SAME = ResponseSpec(None, description="The file that If-None-Match names", generate_examples=False)
_PART = ResponseSpec(bytes, description="The part that Range asked for", media_type="*/*", generate_examples=False)


class MediaView(msgspec.Struct, rename="camel", kw_only=True):
    """What is known of a customer's file; its bytes are at `GET /api/v1/media/{id}`."""

    id: int
    state: str
    """`pending`, `stored` or `failed`."""
    conversation_id: str
    position: int
    sender: str = msgspec.field(name="from")
    """The number that it came to."""
    mime_type: str
    filename: str | None
    """The customer's own."""
    size: int | None
    sha256: str | None
    tries: int
    error: str | None
    due_at: datetime | None
    created_at: datetime
    stored_at: datetime | None


class MediaList(msgspec.Struct):
    content: list[MediaView]


def media_view(file: MediaFile) -> MediaView:
    return MediaView(
        id=file.id,
        state=file.state.value,
        conversation_id=str(file.conversation_id),
        position=file.position,
        sender=file.number,
        mime_type=file.mime_type,
        filename=file.filename,
        size=file.size,
        sha256=file.sha256,
        tries=file.tries,
        error=file.error,
        due_at=shown(file.due_at),
        created_at=to_datetime(file.created_at),
        stored_at=shown(file.stored_at),
    )


@get("/", summary="Customers' files by state", responses=problems(400))
async def list_media(
    caller: Asking,
    world: Here,
    media_state: Annotated[MediaState, QueryParameter(name="state", required=False)] = MediaState.FAILED,
    before: Annotated[
        int | None, QueryParameter(ge=1, le=LARGEST_ID, required=False, description="Only ids below this one")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> MediaList:
    """Newest first; the failed ones unless told otherwise."""
    below = MediaId(LARGEST_ID if before is None else before)
    found = await world.ledger.files.in_state(caller.org_id, media_state, below, limit)
    return MediaList([media_view(file) for file in found])


@get(
    "/{media_id:int}",
    summary="A customer's file",
    responses={200: _FILE, 206: _PART, 304: _SAME, **problems(404, 409, 410, 416)},
)
async def get_media(media_id: Id, request: Request[Any, Any, Any], caller: Asking, world: Here) -> Response[Any]:
    """Images, audio, video and PDF with their own type, anything else as plain bytes; one Range is taken.

    409 `media_pending` while it is being fetched, 409 `media_failed` when that failed for good.
    """
    file = await _stored(caller.org_id, media_id, world)
    tag = f'"{file.sha256}"'
    headers = {**serving.HEADERS, "etag": tag, **_named(file)}
    if serving.has_tag(request.headers.get("if-none-match"), tag):
        return Response(None, status_code=304, headers={"etag": tag, **serving.HEADERS})
    asked = request.headers.get("range") if request.headers.get("if-range", tag) == tag else None
    return await _sent(file, asked, headers, world)


async def _stored(org: OrgId, media_id: int, world: World) -> MediaFile:
    file = await world.ledger.files.get(org, MediaId(media_id)) if 0 < media_id <= LARGEST_ID else None
    if file is None:
        raise Problem(404, "not_found", "this org has no such file")
    if file.state is MediaState.PENDING:
        why = f"; the latest try: {file.error}" if file.error else ""
        raise Problem(409, "media_pending", f"it is being fetched{why}", headers={"retry-after": "1"})
    if file.state is MediaState.FAILED:
        raise Problem(409, "media_failed", f"it could not be fetched: {file.error}")
    return file


def _named(file: MediaFile) -> dict[str, str]:
    kind = serving.served_type(file.mime_type)
    name = serving.file_name(file.filename, file.id, kind)
    inline = serving.shown_inline(kind)
    return {"content-type": kind, "content-disposition": serving.disposition(name, inline=inline)}


async def _sent(file: MediaFile, asked: str | None, headers: dict[str, str], world: World) -> Response[Any]:
    size = await world.shelf.size(file.key or "")
    if size is None or size != file.size:
        raise Problem(410, "media_gone", "it is no longer on the shelf of this server")
    part = serving.part_of(asked, size) if asked else None
    if isinstance(part, Unsatisfiable):
        raise Problem(416, "invalid_range", f"it has {size} bytes", headers={"content-range": f"bytes */{size}"})
    status, wanted = (200, Part(0, size - 1)) if part is None else (206, part)
    if part is not None:
        headers = {**headers, "content-range": f"bytes {part.first}-{part.last}/{size}"}
    return Stream(
        world.shelf.read(file.key or "", wanted.first, wanted.size),
        status_code=status,
        media_type=headers["content-type"],
        headers={**headers, "content-length": str(wanted.size)},
    )


@post(
    "/{media_id:int}/retry",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Fetch a failed file once more",
    responses=problems(404, 409),
)
async def retry_media(media_id: Id, caller: Asking, world: Here) -> MediaView:
    """Worth it within the 7 days that the provider keeps a file."""
    known = 0 < media_id <= LARGEST_ID and await world.ledger.files.get(caller.org_id, MediaId(media_id))
    if not known:
        raise Problem(404, "not_found", "this org has no such file")
    file = await fetch_media.try_again(caller.org_id, MediaId(media_id), world)
    if file is None:
        raise Problem(409, "not_retryable", f"it is {known.state.value}: only a failed file is fetched again")
    return media_view(file)


router = Router(
    "/api/v1/media",
    dependencies={"caller": Provide(reader)},
    tags=["Media"],
    route_handlers=[list_media, get_media, retry_media],
)
