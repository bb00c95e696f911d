"""`waypost admin …` for customers' files."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from waypost.flow.receiving import fetch_media
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.ports.receiving.media import BlobStoreError
from waypost.runtime.cli.app import CommandFailed
from waypost.runtime.cli.tables import JsonOption, OrgArgument, day, of_known, table

ALL = MediaId(2**63 - 1)
MOST = 1000

MediaIdArgument = Annotated[
    int, typer.Argument(metavar="MEDIA_ID", help="The file's id, as `media` lists it.", min=1, max=ALL)
]


def media(
    org: OrgArgument,
    state: Annotated[MediaState, typer.Option(help="The state of the files.")] = MediaState.FAILED,
    limit: Annotated[int, typer.Option(help="How many at most, newest first.", min=1, max=MOST)] = 100,
    json: JsonOption = False,
) -> None:
    """List customers' files; by default those that could not be fetched."""
    found = of_known(org, lambda world: world.ledger.files.in_state(OrgId(org), state, ALL, limit))
    columns = ["media_id", "state", "conversation", "mime_type", "size", "tries", "created", "error"]
    table(columns, [_row(file) for file in found], as_json=json)


def _row(file: MediaFile) -> list[str]:
    size = "" if file.size is None else str(file.size)
    where = f"{file.conversation_id}:{file.position}"
    facts = [str(file.id), file.state.value, where, file.mime_type, size, str(file.tries)]
    return [*facts, day(file.created_at), file.error or ""]


def retry_media(
    org: OrgArgument,
    media_id: Annotated[
        int | None, typer.Argument(metavar="[MEDIA_ID]", help="By default all that failed.", min=1, max=ALL)
    ] = None,
) -> None:
    """Fetch failed files again; the provider keeps them for 7 days."""
    count = of_known(org, lambda world: _retry(OrgId(org), media_id, world))
    if media_id is not None and not count:
        raise CommandFailed(f"org {org} has no failed file {media_id}")
    sys.stdout.write(f"{count} to be fetched again\n")


async def _retry(org: OrgId, media_id: int | None, world: World) -> int:
    if media_id is not None:
        return int(await fetch_media.try_again(org, MediaId(media_id), world) is not None)
    count, before = 0, ALL
    while page := await world.ledger.files.in_state(org, MediaState.FAILED, before, MOST):
        for file in page:
            count += await fetch_media.try_again(org, file.id, world) is not None
        before = page[-1].id
    return count


def save_media(
    org: OrgArgument,
    media_id: MediaIdArgument,
    to: Annotated[Path, typer.Option(help="The file to write; an existing one is not overwritten.")],
) -> None:
    """Save a customer's file. Its name and type come from the customer: open it with care."""
    size = of_known(org, lambda world: _save(OrgId(org), MediaId(media_id), to, world))
    sys.stdout.write(f"saved {size} bytes as {to}\n")


async def _save(org: OrgId, media_id: MediaId, to: Path, world: World) -> int:
    file = await world.ledger.files.get(org, media_id)
    if file is None:
        raise CommandFailed(f"org {org} has no file {media_id}")
    if file.key is None or file.size is None:
        raise CommandFailed(f"file {media_id} is {file.state.value}{f': {file.error}' if file.error else ''}")
    try:
        pieces = [piece async for piece in world.blob_store.read(file.key, 0, file.size)]
        await asyncio.to_thread(_write, to, b"".join(pieces))
    except (BlobStoreError, OSError) as error:
        raise CommandFailed(f"{to} cannot be saved: {error}") from error
    return file.size


def _write(to: Path, content: bytes) -> None:
    with to.open("xb") as file:
        file.write(content)


def register(app: typer.Typer) -> None:
    for command in (media, retry_media, save_media):
        app.command()(command)
