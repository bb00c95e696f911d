"""Customers' files in SQL; the kernel inserts their rows with the entries of their messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from waypost.adapters.sql.engine.engine import Engine
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import OrgId, WorkerId
from waypost.model.media import MediaFile, MediaId, MediaState
from waypost.model.time import Instant, Span
from waypost.rules.receiving.media_fetch import FetchAbandoned, FetchLater, FetchVerdict, FileStored

BEFORE_ALL = (-1, -1)


class SqlFiles:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def claim(self, owner: WorkerId, limit: int, lease: Span, now: Instant) -> Sequence[MediaFile]:
        found = await self._engine.transact(_claim(owner, limit, lease, now))
        return sorted(map(_file, found), key=lambda file: file.id)

    async def settle(self, file: MediaFile, verdict: FetchVerdict, now: Instant) -> bool:
        return bool(await self._engine.transact(_settle(file, verdict, now)))

    async def next_due(self) -> Instant | None:
        found = await self._engine.read("media_next_due")
        return Instant(found[0][0]) if found else None

    async def get(self, org: OrgId, media: MediaId) -> MediaFile | None:
        found = await self._engine.read("media_get", org, media)
        return _file(found[0]) if found else None

    async def between(
        self, org: OrgId, conversation: ConversationId, first: Position, last: Position
    ) -> Sequence[MediaFile]:
        return [_file(row) for row in await self._engine.read("media_between", org, conversation, first, last)]

    async def in_state(self, org: OrgId, state: MediaState, before: MediaId, limit: int) -> Sequence[MediaFile]:
        return [_file(row) for row in await self._engine.read("media_of_state", org, state.value, before, limit)]

    async def retry(self, org: OrgId, media: MediaId, now: Instant) -> MediaFile | None:
        found = await self._engine.transact(_retry(org, media, now))
        return _file(found[0]) if found else None

    async def ended_before(self, moment: Instant, limit: int, after: MediaFile | None = None) -> Sequence[MediaFile]:
        place = (after.created_at, after.id) if after else BEFORE_ALL
        return [_file(row) for row in await self._engine.read("media_ended_before", moment, limit, *place)]

    async def forget(self, files: Sequence[MediaId]) -> None:
        await self._engine.transact(each("media_forget", [(media,) for media in sorted(files)]))


def _claim(owner: WorkerId, limit: int, lease: Span, now: Instant) -> Plan[list[Row]]:
    return (yield Once("media_claim", (owner, now + lease, now, limit)))


def _retry(org: OrgId, media: MediaId, now: Instant) -> Plan[list[Row]]:
    return (yield Once("media_retry", (org, media, now)))


def _settle(file: MediaFile, verdict: FetchVerdict, now: Instant) -> Plan[list[Row]]:
    claim = (file.id, file.owner, file.tries)
    match verdict:
        case FileStored():
            kept = (verdict.key, verdict.size, verdict.sha256, verdict.mime_type)
            return (yield Once("media_stored", (*claim, *kept, now)))
        case FetchLater():
            return (yield Once("media_again", (*claim, verdict.at, verdict.reason)))
        case FetchAbandoned():
            return (yield Once("media_failed", (*claim, verdict.reason)))
        case _:
            assert_never(verdict)


def _file(row: Row) -> MediaFile:
    return MediaFile(
        id=row[0],
        org_id=row[1],
        number=row[2],
        conversation_id=row[3],
        position=row[4],
        provider_id=row[5],
        mime_type=row[6],
        told_sha256=row[7],
        filename=row[8],
        state=MediaState(row[9]),
        tries=row[10],
        due_at=row[11],
        owner=row[12],
        created_at=row[13],
        size=row[14],
        sha256=row[15],
        key=row[16],
        error=row[17],
        stored_at=row[18],
    )
