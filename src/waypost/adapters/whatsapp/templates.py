"""An account's templates from the Cloud API, page by page."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec

from waypost.adapters.whatsapp.provider import send_outcome
from waypost.model.outcome import ProviderRejected
from waypost.model.template import Template
from waypost.ports.accounts.templates import Fetched, NotFetched, TemplateAccount
from waypost.ports.platform.http_transport import HttpTransport, TransportError
from waypost.rules.content.template_reading import read

PAGE = 100
MOST_PAGES = 100
"""An account has at most a few thousand templates; an endless list is an error of the provider."""

_FIELDS = "id,name,language,status,category,parameter_format,components"
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Cursors(msgspec.Struct, frozen=True):
    after: str | None = None


class _Paging(msgspec.Struct, frozen=True):
    cursors: _Cursors | None = None
    next: str | None = None


class _Page(msgspec.Struct, frozen=True):
    data: list[msgspec.Raw]
    paging: _Paging | None = None


_page = msgspec.json.Decoder(_Page)


class CloudTemplates:
    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport

    async def fetch(self, account: TemplateAccount, timeout: float) -> Fetched:
        try:
            async with asyncio.timeout(timeout):
                return await self._pages(account, timeout)
        except TimeoutError:
            return NotFetched(f"the whole list did not come within {timeout:g} s")

    async def _pages(self, account: TemplateAccount, timeout: float) -> Fetched:
        found: list[Template] = []
        seen = {""}
        after = ""
        for _ in range(MOST_PAGES):
            page = await self._page(account, after, timeout)
            if isinstance(page, NotFetched):
                return page
            found.extend(template for raw in page.data if (template := _read(raw)))
            if page.paging is None or not page.paging.next:
                return found
            after = _after(page.paging.cursors, page.paging.next)
            if after in seen:
                return NotFetched("the provider's pages form a loop")
            seen.add(after)
        return NotFetched(f"the provider's list has more than {MOST_PAGES} pages")

    async def _page(self, account: TemplateAccount, after: str, timeout: float) -> _Page | NotFetched:
        query = {"fields": _FIELDS, "limit": str(PAGE)} | ({"after": after} if after else {})
        url = f"{account.graph_url}/{quote(account.waba_id, safe='')}/message_templates?{urlencode(query)}"
        headers = {"authorization": f"Bearer {account.token}"}
        try:
            reply = await self._transport.request("GET", url, headers=headers, timeout=timeout)
        except TransportError as error:
            return NotFetched(str(error))
        if reply.status != 200:
            outcome = send_outcome(reply, account.token)
            answer = (
                f"{outcome.code} {outcome.message}" if isinstance(outcome, ProviderRejected) else f"HTTP {reply.status}"
            )
            return NotFetched(f"the provider answered {answer}"[:500])
        try:
            return _page.decode(reply.body)
        except _UNREADABLE:
            return NotFetched("the provider's list cannot be read")


def _after(cursors: _Cursors | None, next_page: str) -> str:
    """Use only the cursor: the token must not go to a host that the next page names."""
    if cursors and cursors.after:
        return cursors.after
    try:
        return parse_qs(urlsplit(next_page).query).get("after", [""])[0]
    except ValueError:
        return ""


def _read(raw: msgspec.Raw) -> Template | None:
    """An unreadable template does not affect the others."""
    try:
        return read(msgspec.json.decode(raw))
    except _UNREADABLE:
        return None
