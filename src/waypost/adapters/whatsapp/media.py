"""Customers' files through the Cloud API: first a link for the id, then the bytes; the token only goes to Meta."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from waypost.adapters.whatsapp.provider import cleaned, send_outcome
from waypost.model.outcome import ProviderRejected
from waypost.ports.platform.http_transport import HttpReply, HttpTransport, ReplyTooLarge, TransportError
from waypost.ports.receiving.media import LinkExpired, MediaLink, MediaRefused
from waypost.ports.sending.provider import Sender
from waypost.rules.receiving.media_fetch import FetchFailure, LinkOrigin, may_get_token

DOWNLOAD_WITHIN = 120.0
"""Seconds; enough for a hundred megabytes."""
_LARGEST_ANSWER = 64 * 1024
_PORTS = {"https": 443, "http": 80}
_FOREIGN = "the provider named a link that our token may not go to"


class _Described(msgspec.Struct):
    url: str
    sha256: Any = None
    file_size: Any = None
    mime_type: Any = None


_described = msgspec.json.Decoder(_Described)


class CloudMedia:
    def __init__(self, transport: HttpTransport, timeout: float) -> None:
        self._transport = transport
        self._timeout = timeout

    async def find(self, sender: Sender, provider_id: str) -> MediaLink | MediaRefused | FetchFailure:
        asked = urlencode({"phone_number_id": sender.number})
        url = f"{sender.graph_url}/{quote(provider_id, safe='')}?{asked}"
        reply = await self._get(sender, url, self._timeout, _LARGEST_ANSWER)
        if isinstance(reply, FetchFailure):
            return reply
        if reply.status != 200:
            return _refused(reply, sender.token)
        try:
            described = _described.decode(reply.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return FetchFailure("the provider's answer cannot be read")
        return MediaLink(
            described.url,
            described.sha256 if isinstance(described.sha256, str) else None,
            described.file_size if isinstance(described.file_size, int) else None,
            described.mime_type if isinstance(described.mime_type, str) else None,
        )

    async def download(
        self, sender: Sender, link: MediaLink, limit: int
    ) -> bytes | LinkExpired | MediaRefused | FetchFailure:
        there, home = _origin(link.url), _origin(sender.graph_url)
        if there is None or home is None or not may_get_token(there, home):
            return FetchFailure(_FOREIGN, hopeless=True)
        reply = await self._get(sender, link.url, max(self._timeout, DOWNLOAD_WITHIN), limit)
        if isinstance(reply, FetchFailure):
            return reply
        if reply.status == 200:
            return reply.body
        return LinkExpired() if reply.status == 404 else _refused(reply, sender.token)

    async def _get(self, sender: Sender, url: str, timeout: float, limit: int) -> HttpReply | FetchFailure:
        headers = {"authorization": f"Bearer {sender.token}"}
        try:
            return await self._transport.request("GET", url, headers=headers, timeout=timeout, limit=limit)
        except ReplyTooLarge as error:
            return FetchFailure(str(error), hopeless=True)
        except TransportError as error:
            return FetchFailure(cleaned(str(error), sender.token))


def _refused(reply: HttpReply, token: str) -> MediaRefused | FetchFailure:
    outcome = send_outcome(reply, token)
    if isinstance(outcome, ProviderRejected):
        return MediaRefused(outcome.code, outcome.message)
    return FetchFailure(f"the provider answered HTTP {reply.status}")


def _origin(url: str) -> LinkOrigin | None:
    """None unless the URL is a plain web address without a user name or password."""
    if not url.isascii() or not url.isprintable() or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if parts.scheme not in _PORTS or port is None or not parts.hostname or "@" in parts.netloc:
        return None
    return LinkOrigin(parts.scheme, parts.hostname, port)
