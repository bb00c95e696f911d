"""Two colleagues at one desk: they write to each other, and a device of one follows by long polls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from tests.acceptance.stage.clients import Api, Http
from tests.acceptance.stage.harness import ORG, Site


@dataclass
class Screen:
    """What a device knows; it goes on from there after everything else was lost."""

    http: Http
    epoch: str | None = None
    cursors: dict[str, int] = field(default_factory=dict)

    async def ask(self, *, epoch: bool = True) -> dict[str, Any]:
        said = f"&epoch={quote(self.epoch)}" if epoch and self.epoch else ""
        told = f"&cursors={quote(json.dumps(self.cursors))}" if self.cursors else ""
        answer: dict[str, Any] = await self.http.get(f"/api/v1/sync?device_id=phone{said}{told}&wait=0")
        return answer

    async def catch_up(self) -> list[str]:
        """What colleagues wrote that is new to it."""
        answer = await self.ask()
        assert not answer["resync_required"], answer
        self.epoch, self.cursors = answer["epoch"], answer["heads"]
        told = [item["message"] for item in answer["items"] if item["kind"] == "message"]
        return texts([message for message in told if message["sender_id"].startswith("user_")])


def texts(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [message["content"]["text"] for message in messages]


@dataclass
class Desk:
    writer: Http
    screen: Screen
    chat: str

    async def write(self, *lines: str) -> None:
        for line in lines:
            said = {"client_message_id": line, "conversation_id": self.chat, "content": {"type": "text", "text": line}}
            answer = await self.writer.ask("POST", "/api/v1/messages", said)
            assert answer.status == 201, answer

    async def history(self) -> list[str]:
        """Oldest first."""
        page = await self.screen.http.get(f"/api/v1/conversations/{self.chat}/messages")
        return texts(page["messages"])[::-1]

    async def finds(self, word: str) -> bool:
        return bool((await self.screen.http.get(f"/api/v1/search?q={word}"))["results"])


async def desk(here: Site, api: Api) -> Desk:
    ann, ben = (here.run("admin", "create-user", ORG, name, "--json").fields for name in ("Ann", "Ben"))
    writer, reader = (Http(api.session, here.url, {"authorization": f"Bearer {who['token']}"}) for who in (ann, ben))
    opened = await writer.ask("POST", "/api/v1/conversations", {"kind": "direct", "members": [ben["user_id"]]})
    assert opened.status in {200, 201}, opened
    return Desk(writer, Screen(reader), opened.body["conversation_id"])
