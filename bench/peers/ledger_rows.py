"""Rows by the hundred thousand, put into a Ledger's tables behind its back: set-up, not what is measured."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import asyncpg

_PERSON = "INSERT INTO person (id, org_id, digest, name, role, created_at) VALUES ($1, $2, $3, $4, $5, $6)"


async def insert_people(url: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if is_sqlite(url):
        with sqlite3.connect(path(url)) as connection:
            connection.executemany(_PERSON.replace("$", "?"), rows)
        connection.close()
        return
    postgres = await asyncpg.connect(url)
    await postgres.executemany(_PERSON, rows)
    await postgres.close()


async def execute(url: str, *scripts: str) -> None:
    if is_sqlite(url):
        with sqlite3.connect(path(url)) as connection:
            for script in scripts:
                connection.execute(script)
        connection.close()
        return
    postgres = await asyncpg.connect(url)
    for script in scripts:
        await postgres.execute(script, timeout=1200)
    await postgres.close()


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite")


def path(url: str) -> str:
    return url.removeprefix("sqlite:///")
