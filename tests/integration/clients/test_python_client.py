"""The Python client as an application uses it, against a real server."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.stage.client_play import Api, Person
from tests.integration.stage.client_server import Served, a_server
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.client import (
    Client,
    ClientEvent,
    FileStore,
    Item,
    RequestRefused,
    Reset,
    SendRefused,
    State,
    Stopped,
    StoreInUse,
)

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "use-the-python-client.md").read_text()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with a_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@dataclass
class Pair:
    """Two users and their conversations."""

    api: Api
    ann: Person
    bob: Person
    chat: str

    def client(self, who: Person, **options: Any) -> Client:
        return Client(self.api.url, who.token, f"device-{uuid.uuid4()}", **options)

    async def says(self, who: Person, text: str) -> None:
        said = {
            "client_message_id": str(uuid.uuid4()),
            "conversation_id": self.chat,
            "content": {"type": "text", "text": text},
        }
        await self.api.ask("POST", "/messages", who.token, said)

    async def texts(self) -> list[str]:
        return [message["content"]["text"] for message in await self.api.log(self.chat, self.ann.token)]


@pytest.fixture
async def pair(served: Served) -> AsyncIterator[Pair]:
    wire = ReqwestTransport("application")
    api = Api(served.url, wire)
    ann, bob = await api.person(served.admin_key, "Ann"), await api.person(served.admin_key, "Bob")
    opened = await api.ask("POST", "/conversations", ann.token, {"kind": "direct", "members": [bob.user_id]})
    yield Pair(api, ann, bob, opened["conversation_id"])
    await wire.close()


async def next_message(client: Client) -> Item:
    async with asyncio.timeout(20):
        async for news in client.items():
            if isinstance(news, Item) and news.kind == "message":
                return news
    raise AssertionError("the items ended")


async def test_a_new_device_begins_with_a_reset_and_then_hears_what_is_said(pair: Pair) -> None:
    await pair.says(pair.bob, "before")
    async with pair.client(pair.ann) as client:
        first = await anext(client.items())
        assert isinstance(first, Reset)
        assert first.reason == "fresh"
        assert [conversation.conversation_id for conversation in await client.conversations()] == [pair.chat]
        assert [message.content async for message in client.history(pair.chat)] == [{"type": "text", "text": "before"}]
        await client.reaches(State.LIVE)
        assert client.user_id == pair.ann.user_id
        await pair.says(pair.bob, "after")
        said = (await next_message(client)).message
        assert said is not None
        assert (said.sender_id, said.content) == (pair.bob.user_id, {"type": "text", "text": "after"})


async def test_a_send_returns_what_the_server_made_of_it(pair: Pair) -> None:
    async with pair.client(pair.ann) as client:
        sent = await client.send(pair.chat, "one")
        again = await client.send(pair.chat, "one", client_message_id=sent.client_message_id)
        assert (again.message_id, again.position) == (sent.message_id, sent.position)
        with pytest.raises(SendRefused):
            await client.send(pair.chat, "other words", client_message_id=sent.client_message_id)
        with pytest.raises(SendRefused):
            await client.send("no such conversation", "hello?")
    assert await pair.texts() == ["one"]


async def test_what_was_sent_at_once_arrives_in_order(pair: Pair) -> None:
    async with pair.client(pair.ann) as client:
        texts = [f"{n}" for n in range(20)]
        await asyncio.gather(*(client.send(pair.chat, text) for text in texts))
    assert await pair.texts() == texts


async def test_unread_falls_when_another_device_reads(pair: Pair) -> None:
    async with pair.client(pair.ann) as laptop, pair.client(pair.ann) as phone:
        await laptop.reaches(State.LIVE)
        await phone.reaches(State.LIVE)
        assert await laptop.unread(pair.chat) == 0
        await pair.says(pair.bob, "hello")
        said = (await next_message(phone)).message
        await next_message(laptop)
        assert said is not None
        assert await laptop.unread(pair.chat) == 1
        await phone.read(pair.chat, said.message_id)
        async for news in laptop.items():
            if isinstance(news, Item) and news.kind == "read":
                break
        assert await laptop.unread(pair.chat) == 0


async def test_a_client_that_was_stopped_goes_on_where_it_was(pair: Pair, tmp_path: Path) -> None:
    device, file = f"device-{uuid.uuid4()}", tmp_path / "client.db"
    async with Client(pair.api.url, pair.ann.token, device, store=FileStore(file)) as client:
        async for _ in client.items():
            break
        await pair.says(pair.bob, "first")
        await next_message(client)
        await pair.says(pair.bob, "second")
        await next_message(client)  # asking for it acknowledges the first
    async with Client(pair.api.url, pair.ann.token, device, store=FileStore(file)) as client:
        again = (await next_message(client)).message
        assert again is not None
        assert again.content == {"type": "text", "text": "second"}


async def test_one_file_is_one_clients(pair: Pair, tmp_path: Path) -> None:
    async with pair.client(pair.ann, store=FileStore(tmp_path / "client.db")):
        with pytest.raises(StoreInUse):
            await pair.client(pair.ann, store=FileStore(tmp_path / "client.db")).__aenter__()


async def test_a_token_that_nobody_has_stops_the_client(pair: Pair, tmp_path: Path) -> None:
    stranger = Person("nobody", "not a token")
    async with pair.client(stranger, store=FileStore(tmp_path / "client.db")) as client:
        with pytest.raises(Stopped) as stopped:
            await client.send(pair.chat, "kept")
        assert stopped.value.code == 4401
        with pytest.raises(Stopped):
            await anext(client.items())
    assert client.state is State.STOPPED
    async with pair.client(pair.ann, store=FileStore(tmp_path / "client.db")) as client:
        await next_message(client)
    assert await pair.texts() == ["kept"]


async def test_a_question_about_what_is_not_ones_own_is_refused(pair: Pair, served: Served) -> None:
    stranger = await pair.api.person(served.admin_key, "Eve")
    async with pair.client(stranger) as client:
        with pytest.raises(RequestRefused) as refused:
            await client.unread(pair.chat)
        assert refused.value.status == 404
        with pytest.raises(RequestRefused):
            [message async for message in client.history(pair.chat)]


async def test_who_types_is_heard(pair: Pair) -> None:
    heard: asyncio.Queue[ClientEvent] = asyncio.Queue()
    async with pair.client(pair.ann, watch=heard.put_nowait) as ann, pair.client(pair.bob) as bob:
        await ann.reaches(State.LIVE)
        await bob.reaches(State.LIVE)
        await bob.typing(pair.chat)
        async with asyncio.timeout(20):
            while getattr(await heard.get(), "frame", {}).get("type") != "typing":
                pass


def test_an_address_that_is_none_is_told_at_once() -> None:
    for address in ("example.org", "ftp://example.org", "http://"):
        with pytest.raises(ValueError, match="http"):
            Client(address, "token", "device")


async def test_the_pages_example_answers(pair: Pair, tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "page", "exec"), names)
    heard: asyncio.Queue[ClientEvent] = asyncio.Queue()
    async with pair.client(pair.bob, watch=heard.put_nowait) as bob:
        await bob.reaches(State.LIVE)
        helper = asyncio.create_task(names["answer"](pair.api.url, pair.ann.token, str(tmp_path / "helper.db")))
        try:
            async with asyncio.timeout(20):
                while getattr(await heard.get(), "frame", {}).get("state") != "online":
                    pass  # until the helper is there: a new device begins with what comes after it
            await bob.send(pair.chat, "hello")
            said = [(await next_message(bob)).body["message"]["content"]["text"] for _ in range(2)]
            assert said == ["hello", "You wrote: hello"]
        finally:
            helper.cancel()
            await asyncio.gather(helper, return_exceptions=True)
