"""Page 1 of a long history against page 10,000, through the route and its cursors: a page's cost is constant.

By default a conversation of 200,000 messages among 1,000,000 rows; `python -m bench.paging` takes 1,000,000 among
10,000,000.
"""

from __future__ import annotations

import argparse
import json
import time
from http.client import HTTPConnection
from statistics import median
from typing import Any

import uvloop

from bench import waypost_live
from bench.peers import ledger_rows
from bench.peers.serving import running
from bench.table import Line, shown
from bench.waypost_live import Ledger
from bench.waypost_webhook import settings_for
from waypost.http.conversations.conversations import CURSORS
from waypost.model.conversation import ConversationId
from waypost.model.time import Instant
from waypost.rules.live import cursor
from waypost.runtime.wiring.wiring import open_vault
from waypost_testing.services.processes import Postgres

PAGES = 10_000
MESSAGES = 200_000
ROWS = 1_000_000
ASKED = 300
OTHERS = 20
"""Conversations that the other rows are of."""

_COLUMNS = "conversation_id, position, id_at, at, sender, type, body, client_message_id"
_BODY = '{{"text":"' + "x" * 40 + '"}}'
_ROW = f"{{at}} + g, {{at}} + g, 'user_00000' || (g % 2), 'text', '{_BODY}', 'm' || g"
_FILL = f"INSERT INTO entry ({_COLUMNS}) SELECT {{chat}}, g, {_ROW} FROM "  # noqa: S608  # of ours alone
"""`chat`, `at` and where g comes from."""
_NUMBERS = "WITH RECURSIVE n (g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM n LIMIT {count}) SELECT g FROM n"


def fill(url: str, chat: int, count: int, at: int) -> str:
    insert = _FILL.format(chat=chat, at=at)
    if ledger_rows.is_sqlite(url):
        return f"{insert} ({_NUMBERS.format(count=count)})"
    return f"{insert} generate_series(1, {count}) AS g"


async def prepare(url: str, messages: int, rows: int) -> ConversationId:
    await waypost_live.prepare(url, 2)
    (chat,) = await waypost_live.open_directs(url, 1)
    at = time.time_ns() // 1_000 - 2 * rows
    others = [fill(url, chat + 1 + n, (rows - messages) // OTHERS, at) for n in range(OTHERS)]
    head = f"UPDATE conversation SET position = {messages}, last_id_at = {at + messages} WHERE id = {chat}"  # noqa: S608
    tidy = "ANALYZE" if ledger_rows.is_sqlite(url) else "VACUUM ANALYZE entry"
    await ledger_rows.execute(url, *others[: OTHERS // 2], fill(url, chat, messages, at), *others[OTHERS // 2 :], head)
    await ledger_rows.execute(url, tidy)
    return chat


class Pages:
    """A person who reads one conversation by the route."""

    def __init__(self, port: int, chat: ConversationId, limit: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port)
        self._path = f"/api/v1/conversations/{chat}/messages?limit={limit}"
        self._key = open_vault(settings_for("sqlite:///unused.db")).key_for(CURSORS)
        self._bound = {"org": waypost_live.ORG, "whose": waypost_live.person(0), "list": f"messages of {chat}"}

    def get(self, before: int | None = None) -> Any:
        """The page before a position, by the cursor that the page above it would give."""
        asked = self._path if before is None else f"{self._path}&cursor={self._cursor(before)}"
        self._connection.request("GET", asked, headers={"Authorization": f"Bearer {waypost_live.token(0)}"})
        answer = self._connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text)

    def _cursor(self, before: int) -> str:
        return cursor.made(cursor.CursorPosition(before, 0, Instant(time.time_ns() // 1_000)), self._bound, self._key)


def ask(port: int, chat: ConversationId, messages: int) -> tuple[float, float]:
    """Medians, in milliseconds: the first page, and the ten thousandth."""
    limit = messages // PAGES
    pages = Pages(port, chat, limit)
    places = {1: None, PAGES: messages - (PAGES - 1) * limit + 1}
    assert [m["position"] for m in pages.get()["messages"]] == list(range(messages, messages - limit, -1))
    assert [m["position"] for m in pages.get(places[PAGES])["messages"]] == list(range(limit, 0, -1))
    times: dict[int, list[float]] = {number: [] for number in places}
    for _ in range(ASKED):
        for number, place in places.items():
            began = time.perf_counter()
            pages.get(place)
            times[number].append(time.perf_counter() - began)
    return median(times[1]) * 1e3, median(times[PAGES]) * 1e3


def run(ledger: Ledger, messages: int, rows: int) -> list[Line]:
    began = time.perf_counter()
    chat = uvloop.run(prepare(ledger.url, messages, rows))
    filled = time.perf_counter() - began
    with running("bench.waypost_live", ["--url", ledger.url]) as (_, port):
        first, deep = ask(port, chat, messages)
    what = f"{ledger.name}, page {PAGES:,} of {messages:,} messages"
    print(f"{what}: {deep:.2f} ms, page 1 {first:.2f} ms; {rows:,} rows, filled in {filled:.0f} s", flush=True)
    return [
        Line("paging", f"{ledger.name}, page 1 of {messages:,} messages among {rows:,}", first, "ms"),
        Line("paging", f"{what}, times page 1", deep / first, "times", goal=1.2),
    ]


def measure(url: str, _rounds: int, _count: int) -> list[Line]:
    with waypost_live.ledgers(url) as ledgers:
        return [line for ledger in ledgers for line in run(ledger, MESSAGES, ROWS)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=10_000_000)
    options = parser.parse_args()
    with Postgres() as postgres, waypost_live.ledgers(postgres.url) as both:
        print(shown([line for each in both for line in run(each, options.messages, options.rows)]))
