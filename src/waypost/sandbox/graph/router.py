"""Routes the paths of the Graph API, with or without a version prefix."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from waypost.ports.platform.clock import Ids
from waypost.sandbox.edge.asgi import SandboxRequest, SandboxResponse
from waypost.sandbox.edge.graph_errors import unknown_path
from waypost.sandbox.graph.account import AccountEndpoints
from waypost.sandbox.graph.media import MediaEndpoints
from waypost.sandbox.graph.messages import MessageEndpoints

LATEST_VERSION: Final = "v26.0"
_VERSION: Final = re.compile(r"v\d+(\.\d+)?")


class Graph:
    def __init__(self, ids: Ids, account: AccountEndpoints, media: MediaEndpoints, messages: MessageEndpoints) -> None:
        self._ids = ids
        self._account = account
        self._media = media
        self._messages = messages
        self._edges: dict[tuple[str, str], Callable[[SandboxRequest, str], SandboxResponse]] = {
            ("POST", "media"): media.upload,
            ("GET", "message_templates"): account.templates,
            ("POST", "message_templates"): account.create_template,
            ("DELETE", "message_templates"): account.delete_template,
            ("GET", "phone_numbers"): account.phone_numbers,
            ("GET", "subscribed_apps"): account.subscriptions,
            ("POST", "subscribed_apps"): account.subscribe,
            ("DELETE", "subscribed_apps"): account.subscribe,
        }

    async def answer(self, request: SandboxRequest, parts: list[str]) -> SandboxResponse:
        version = parts.pop(0) if parts and _VERSION.fullmatch(parts[0]) else LATEST_VERSION
        if len(parts) == 2 and parts[1] == "messages" and request.method == "POST":
            reply = await self._messages.post(request, parts[0])
        else:
            reply = self._routed(request, parts)
        trace = self._ids.token(8).encode()
        marks = ((b"facebook-api-version", version.encode()), (b"x-fb-trace-id", trace), (b"x-fb-request-id", trace))
        return msgspec.structs.replace(reply, headers=(*reply.headers, *marks))

    def _routed(self, request: SandboxRequest, parts: list[str]) -> SandboxResponse:
        match (request.method, *parts):
            case ("GET", "whatsapp_business", "attachments"):
                return self._media.download(request)
            case (method, node, edge) if handler := self._edges.get((method, edge)):
                return handler(request, node)
            case ("GET", node):
                return (
                    self._media.look_up(request, node) if self._media.has(node) else self._account.node(request, node)
                )
            case ("DELETE", node):
                return self._media.delete(request, node)
            case _:
                return self._account.refused(unknown_path(request.path))
