"""A team's inbox with very many conversations, put into a SQLite Ledger behind its back: not what is measured."""

from __future__ import annotations

import time

from bench import load, waypost_live
from bench.peers import ledger_rows
from bench.waypost_live import ORG
from bench.waypost_webhook import settings_for
from waypost.flow.accounts import access
from waypost.model.ids import NumberId

AGENT = 0
CONVERSATIONS = 50_000
_APART = 20_000_000
"""Microseconds between the last lines of two neighbours in the list."""
_NUMBERS = "(WITH RECURSIVE n (g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM n LIMIT {count}) SELECT g FROM n)"
_PHONE = "'+4917' || printf('%08d', g)"
_FIRST = """'["Ada","Grace","Edsger","Barbara","Alan","Radia","Tim","Margaret","Ken","Frances","Donald"]'"""
_LAST = """'["Nelson","Okafor","Müller","Rossi","Tanaka","Silva","Novák","Haddad","Lindqvist"]'"""
_NAME = f"json_extract({_FIRST}, '$[' || (g % 11) || ']') || ' ' || json_extract({_LAST}, '$[' || (g % 9) || ']')"
_WORDS = "'Where is my order ' || g || '? ' || substr('It should have come on Friday, and nobody called.', 1, g % 49)"
_BODY = f"json_object('type', 'text', 'text', json_object('body', {_WORDS}))"

_CONTACTS = f"""
INSERT INTO contact (id, org_id, met_as, name, created_at, updated_at)
SELECT g, '{ORG}', 'phone:' || {_PHONE}, {_NAME}, {{at}}, {{at}} FROM {{numbers}}
"""  # noqa: S608  # of ours alone, as the others
_ADDRESSES = f"""
INSERT INTO contact_address (org_id, address, contact_id) SELECT '{ORG}', 'phone:' || {_PHONE}, g FROM {{numbers}}
"""  # noqa: S608
_CONVERSATIONS = f"""
INSERT INTO conversation (id, org_id, kind, number, contact_id, address, position, last_id_at, created_at)
SELECT g, '{ORG}', 'customer', '{load.PHONE_NUMBER_ID}', g, {_PHONE}, 1, {{at}} + g * {_APART}, {{at}} FROM {{numbers}}
"""  # noqa: S608
_LANES = f"""
INSERT INTO lane (conversation_id, org_id, tail, done, fence, tries, floor)
SELECT g, '{ORG}', 1, 1, 0, 0, CASE g % 5 WHEN 0 THEN 'human' ELSE 'bot' END FROM {{numbers}}
"""  # noqa: S608
_ENTRIES = f"""
INSERT INTO entry (conversation_id, position, id_at, at, sender, type, body)
SELECT g, 1, {{at}} + g * {_APART}, {{at}} + g * {_APART}, 'contact', 'text', {_BODY} FROM {{numbers}}
"""  # noqa: S608
_READ = """
INSERT INTO read_marker (user_id, conversation_id, position, at)
SELECT '{agent}', g, 1, {at} FROM {numbers} WHERE g % 3
"""


async def prepare(url: str, conversations: int = CONVERSATIONS) -> None:
    """With a number whose webhooks `bench.load` can sign, and an agent."""
    await waypost_live.prepare(url, AGENT + 1)
    async with waypost_live.connected(settings_for(url)) as world:
        secrets = {"token": "t", "app_secret": load.SECRET, "verify_token": "v"}
        number = NumberId(load.PHONE_NUMBER_ID)
        await access.connect_number(ORG, access.NewNumber(number=number, waba_id="w", secrets=secrets), world)
    at = time.time_ns() // 1_000 - (conversations + 60) * _APART
    numbers, agent = _NUMBERS.format(count=conversations), waypost_live.person(AGENT)
    scripts = (_CONTACTS, _ADDRESSES, _CONVERSATIONS, _LANES, _ENTRIES, _READ)
    filled = [script.format(at=at, numbers=numbers, agent=agent) for script in scripts]
    await ledger_rows.execute(url, *filled, "ANALYZE")
