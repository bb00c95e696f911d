"""/api/v1/media: customers' files, served so that a browser never runs one as a page of this server."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, get, post
from litestar.di import Provide
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import PathParameter, QueryParameter
from litestar.response import Stream

from waypost.flow.receiving import fetch_media
from waypost.flow.world import World
from waypost.http.edge.context import CurrentCaller, CurrentWorld, reader, writer
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.sending.outbound import LARGEST_ID
from waypost.http.sending.views import format_time
from waypost.model.ids import OrgId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import to_datetime
from waypost.rules.receiving import file_response
from waypost.rules.receiving.file_response import ByteRange, UnsatisfiableRange

MediaIdPath = Annotated[int, PathParameter(description="A file's id")]
_FILE = ResponseSpec(bytes, description="The file", media_type="*/*", generate_examples=False)
_SAME = ResponseSpec(None, description="The file that If-None-Match names", generate_examples=False)
_PART = ResponseSpec(bytes, description="The part that Range asked for", media_type="*/*", generate_examples=False)


class MediaView(msgspec.Struct, rename="camel", kw_only=True):
    """A customer's file; its bytes are at `GET /api/v1/media/{id}`."""

    id: int
    state: str
    """`pending`, `stored` or `failed`."""
    conversation_id: str
    position: int
    sender: str = msgspec.field(name="from")
    """The org's number that received it."""
    mime_type: str
    filename: str | None
    """The file's name as the customer sent it."""
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
        due_at=format_time(file.due_at),
        created_at=to_datetime(file.created_at),
        stored_at=format_time(file.stored_at),
    )


@get("/", summary="Customers' files by state", responses=problems(400))
async def list_media(
    caller: CurrentCaller,
    world: CurrentWorld,
    media_state: Annotated[MediaState, QueryParameter(name="state", required=False)] = MediaState.FAILED,
    before: Annotated[
        int | None, QueryParameter(ge=1, le=LARGEST_ID, required=False, description="Only ids below this one")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> MediaList:
    """Newest first; by default the failed ones."""
    below = MediaId(LARGEST_ID if before is None else before)
    found = await fetch_media.files_in_state(caller.org_id, media_state, below, limit, world)
    return MediaList([media_view(file) for file in found])


@get(
    "/{media_id:int}",
    summary="A customer's file",
    responses={200: _FILE, 206: _PART, 304: _SAME, **problems(404, 409, 410, 416)},
)
async def get_media(
    media_id: MediaIdPath, request: Request[Any, Any, Any], caller: CurrentCaller, world: CurrentWorld
) -> Response[Any]:
    """Images, audio, video and PDF keep their type, anything else is served as plain bytes; supports one Range.

    409 `media_pending` while it is being fetched, 409 `media_failed` when fetching failed permanently.
    """
    file = await _stored(caller.org_id, media_id, world)
    tag = f'"{file.sha256}"'
    headers = {**file_response.HEADERS, "etag": tag, **_named(file)}
    if file_response.has_tag(request.headers.get("if-none-match"), tag):
        return Response(None, status_code=304, headers={"etag": tag, **file_response.HEADERS})
    asked = request.headers.get("range") if request.headers.get("if-range", tag) == tag else None
    return await _sent(file, asked, headers, world)


async def _stored(org: OrgId, media_id: int, world: World) -> MediaFile:
    file = await fetch_media.media_file(org, MediaId(media_id), world) if 0 < media_id <= LARGEST_ID else None
    if file is None:
        raise Problem(404, "not_found", "this org has no such file")
    if file.state is MediaState.PENDING:
        why = f"; the latest attempt: {file.error}" if file.error else ""
        raise Problem(409, "media_pending", f"the file is being fetched{why}", headers={"retry-after": "1"})
    if file.state is MediaState.FAILED:
        raise Problem(409, "media_failed", f"the file could not be fetched: {file.error}")
    return file


def _named(file: MediaFile) -> dict[str, str]:
    kind = file_response.served_type(file.mime_type)
    name = file_response.file_name(file.filename, file.id, kind)
    inline = file_response.shown_inline(kind)
    return {"content-type": kind, "content-disposition": file_response.disposition(name, inline=inline)}


async def _sent(file: MediaFile, asked: str | None, headers: dict[str, str], world: World) -> Response[Any]:
    size = await world.blob_store.size(file.key or "")
    if size is None or size != file.size:
        raise Problem(410, "media_gone", "the file is no longer stored")
    part = file_response.part_of(asked, size) if asked else None
    if isinstance(part, UnsatisfiableRange):
        raise Problem(416, "invalid_range", f"the file has {size} bytes", headers={"content-range": f"bytes */{size}"})
    status, wanted = (200, ByteRange(0, size - 1)) if part is None else (206, part)
    if part is not None:
        headers = {**headers, "content-range": f"bytes {part.first}-{part.last}/{size}"}
    return Stream(
        world.blob_store.read(file.key or "", wanted.first, wanted.size),
        status_code=status,
        media_type=headers["content-type"],
        headers={**headers, "content-length": str(wanted.size)},
    )


@post(
    "/{media_id:int}/retry",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Fetch a failed file again",
    responses=problems(404, 409),
)
async def retry_media(media_id: MediaIdPath, caller: CurrentCaller, world: CurrentWorld) -> MediaView:
    """The provider keeps a file for 7 days; later attempts fail."""
    known = 0 < media_id <= LARGEST_ID and await fetch_media.media_file(caller.org_id, MediaId(media_id), world)
    if not known:
        raise Problem(404, "not_found", "this org has no such file")
    file = await fetch_media.try_again(caller.org_id, MediaId(media_id), world)
    if file is None:
        raise Problem(409, "not_retryable", f"the file is {known.state.value}: only a failed file can be fetched again")
    return media_view(file)


router = Router(
    "/api/v1/media",
    dependencies={"caller": Provide(reader)},
    tags=["Media"],
    route_handlers=[list_media, get_media, retry_media],
)
