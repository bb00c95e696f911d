"""A client behind pipes: commands as lines of JSON in, events as lines of JSON out (clients/README.md)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, assert_never

import msgspec

from waypost.client.client import Client
from waypost.client.nouns import (
    ClientError,
    Fetching,
    Happening,
    Heard,
    Item,
    Json,
    Queued,
    Refusal,
    Reset,
    SendRefused,
    Sent,
    StateIs,
    Stopped,
    Tried,
)
from waypost.client.store import FileStore, Kept
from waypost.client.timing import Timing


class ClaimedEpoch(FileStore):
    """For a case in which a device comes from another time."""

    def __init__(self, path: Path, epoch: str | None) -> None:
        super().__init__(path)
        self._claimed = epoch

    async def open(self) -> Kept:
        kept = await super().open()
        return kept if self._claimed is None else msgspec.structs.replace(kept, epoch=self._claimed)


def tell(**event: Any) -> None:
    sys.stdout.write(msgspec.json.encode(event).decode() + "\n")
    sys.stdout.flush()


def told(happening: Happening) -> None:
    match happening:
        case StateIs(state, code):
            tell(event="state", **{"is": state}, code=code)
        case Queued(name):
            tell(event="queued", client_message_id=name)
        case Tried(name, path):
            tell(event="try", client_message_id=name, path=path)
        case Sent(name, message_id, position):
            tell(event="sent", client_message_id=name, message_id=message_id, position=position)
        case Refusal(name, code):
            tell(event="refused", client_message_id=name, code=code)
        case Fetching(feeds):
            tell(event="fetch", feeds=feeds)
        case Heard(frame):
            tell(event="frame", frame=frame)
        case _:
            assert_never(happening)


async def commands() -> AsyncIterator[Json]:
    reader = asyncio.StreamReader(limit=1024 * 1024)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield msgspec.json.decode(line)


async def show(client: Client) -> None:
    with suppress(Stopped):
        async for applied in client.items():
            match applied:
                case Item(body=body):
                    tell(event="item", item=body)
                case Reset(reason=reason):
                    tell(event="reset", reason=reason, messages=await everything(client))


async def everything(client: Client) -> list[Any]:
    """All histories, oldest first in each."""
    found: list[Any] = []
    for conversation in await client.conversations():
        messages = [message async for message in client.history(conversation.conversation_id, limit=200)]
        found += messages[::-1]
    return found


async def obey(client: Client, command: Json) -> None:
    where = command.get("conversation_id", "")
    match command["do"]:
        case "send":
            try:
                await client.send(where, command["content"], client_message_id=command["client_message_id"])
            except SendRefused as refused:
                if refused.code in {"queue_full", "client_message_id_in_use"}:  # the others were told already
                    tell(event="refused", client_message_id=command["client_message_id"], code=refused.code)
        case "read":
            await client.read(where, command["message_id"])
        case "typing":
            await client.typing(where)
        case "history":
            messages = [message async for message in client.history(where, limit=command.get("limit", 50))]
            tell(event="history", conversation_id=where, messages=messages)
        case "unread":
            tell(event="unread", conversation_id=where, count=await client.unread(where))
        case unknown:
            raise ValueError(f"no such command: {unknown}")


async def obey_quietly(client: Client, command: Json) -> None:
    """A command that the end of the client overtakes has no answer."""
    with suppress(ClientError):
        await obey(client, command)


async def drive() -> None:
    heard = commands()
    first = await anext(heard)
    client = Client(
        first["url"],
        first["token"],
        first["device_id"],
        store=ClaimedEpoch(Path(first["store"]) / "client.db", first.get("epoch")),
        timing=Timing(**first.get("timing", {})),
        watch=told,
    )
    async with asyncio.TaskGroup() as tasks, client:
        showing = tasks.create_task(show(client))
        async for command in heard:
            if command["do"] == "stop":
                break
            tasks.create_task(obey_quietly(client, command))
            await asyncio.sleep(0)  # in the order in which they came
        showing.cancel()


def main() -> None:
    asyncio.run(drive())


if __name__ == "__main__":
    main()
