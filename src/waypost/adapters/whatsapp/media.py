"""Customers' files by the Cloud API: a link for an id, then the bytes, with the token where it may go only."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from waypost.adapters.whatsapp.provider import cleaned, understood
from waypost.model.outcome import Rejected
from waypost.ports.media import Link, Outdated, Refused
from waypost.ports.provider import Sender
from waypost.ports.wire import Reply, TooLarge, Wire, WireError
from waypost.rules.fetching import Origin, Trouble, may_get_token

DOWNLOAD_WITHIN = 120.0
"""Seconds: a hundred megabytes take their time."""
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
    def __init__(self, wire: Wire, timeout: float) -> None:
        self._wire = wire
        self._timeout = timeout

    async def find(self, sender: Sender, provider_id: str) -> Link | Refused | Trouble:
        asked = urlencode({"phone_number_id": sender.number})
        url = f"{sender.graph_url}/{quote(provider_id, safe='')}?{asked}"
        reply = await self._get(sender, url, self._timeout, _LARGEST_ANSWER)
        if isinstance(reply, Trouble):
            return reply
        if reply.status != 200:
            return _refused(reply, sender.token)
        try:
            told = _described.decode(reply.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Trouble("the provider's answer cannot be read")
        return Link(
            told.url,
            told.sha256 if isinstance(told.sha256, str) else None,
            told.file_size if isinstance(told.file_size, int) else None,
            told.mime_type if isinstance(told.mime_type, str) else None,
        )

    async def download(self, sender: Sender, link: Link, limit: int) -> bytes | Outdated | Refused | Trouble:
        there, home = _origin(link.url), _origin(sender.graph_url)
        if there is None or home is None or not may_get_token(there, home):
            return Trouble(_FOREIGN, hopeless=True)
        reply = await self._get(sender, link.url, max(self._timeout, DOWNLOAD_WITHIN), limit)
        if isinstance(reply, Trouble):
            return reply
        if reply.status == 200:
            return reply.body
        return Outdated() if reply.status == 404 else _refused(reply, sender.token)

    async def _get(self, sender: Sender, url: str, timeout: float, limit: int) -> Reply | Trouble:
        headers = {"authorization": f"Bearer {sender.token}"}
        try:
            return await self._wire.request("GET", url, headers=headers, timeout=timeout, limit=limit)
        except TooLarge as error:
            return Trouble(str(error), hopeless=True)
        except WireError as error:
            return Trouble(cleaned(str(error), sender.token))


def _refused(reply: Reply, token: str) -> Refused | Trouble:
    told = understood(reply, token)
    if isinstance(told, Rejected):
        return Refused(told.code, told.message)
    return Trouble(f"the provider answered HTTP {reply.status}")


def _origin(url: str) -> Origin | None:
    """None for what is no plain web address; one with a name and password in it is none either."""
    if not url.isascii() or not url.isprintable() or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if parts.scheme not in _PORTS or port is None or not parts.hostname or "@" in parts.netloc:
        return None
    return Origin(parts.scheme, parts.hostname, port)
