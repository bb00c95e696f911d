"""The webhook as most would write it: FastAPI, pydantic, SQLAlchemy, one transaction per request."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

import asyncpg
import uvloop
from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel
from sqlalchemy import DateTime, ForeignKey, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bench.load import SECRET, wamid
from bench.peers import database
from bench.peers.serving import WebhookResult, measure, serve

Sessions: TypeAlias = async_sessionmaker[AsyncSession]


class Table(DeclarativeBase):
    pass


class Message(Table):
    __tablename__ = "messages"
    id: Mapped[int] = mapped_column(primary_key=True)
    wamid: Mapped[str] = mapped_column(unique=True)
    status: Mapped[str]
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))


class StatusUpdate(Table):
    __tablename__ = "status_updates"
    id: Mapped[int] = mapped_column(primary_key=True)
    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id"), index=True)
    status: Mapped[str]
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    raw: Mapped[dict[str, Any]] = mapped_column(JSONB)


class Pricing(BaseModel):
    billable: bool | None = None
    pricing_model: str
    type: str | None = None
    category: str


class Status(BaseModel):
    id: str
    status: str
    timestamp: str
    recipient_id: str | None = None
    biz_opaque_callback_data: str | None = None
    pricing: Pricing | None = None


class Metadata(BaseModel):
    display_phone_number: str
    phone_number_id: str


class Value(BaseModel):
    messaging_product: str
    metadata: Metadata
    statuses: list[Status] = []


class Change(BaseModel):
    field: str
    value: Value


class Entry(BaseModel):
    id: str
    changes: list[Change]


class Webhook(BaseModel):
    object: str
    entry: list[Entry]


def application(url: str, secret: str) -> FastAPI:
    return signed(url, secret, _take)


async def _take(body: bytes, sessions: Sessions) -> None:
    async with sessions.begin() as session:
        for status in _statuses(Webhook.model_validate_json(body)):
            await _apply(status, session)


def signed(url: str, secret: str, take: Callable[[bytes, Sessions], Awaitable[None]]) -> FastAPI:
    """A server that takes what is signed, and answers when that is stored."""
    engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"), pool_size=32, max_overflow=0)
    sessions = async_sessionmaker(engine, expire_on_commit=False)
    app = FastAPI(lifespan=disposing(engine))

    @app.post("/webhook")
    async def webhook(request: Request) -> dict[str, str]:
        body = await request.body()
        wanted = "sha256=" + hmac.digest(secret.encode(), body, hashlib.sha256).hex()
        if not hmac.compare_digest(request.headers.get("x-hub-signature-256", ""), wanted):
            raise HTTPException(status_code=401)
        await take(body, sessions)
        return {"status": "ok"}

    return app


def disposing(engine: AsyncEngine) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await engine.dispose()

    return lifespan


def _statuses(webhook: Webhook) -> list[Status]:
    return [status for entry in webhook.entry for change in entry.changes for status in change.value.statuses]


async def _apply(status: Status, session: AsyncSession) -> None:
    message = await session.scalar(select(Message).where(Message.wamid == status.id))
    if message is None:
        return
    at = datetime.fromtimestamp(int(status.timestamp), UTC)
    message.status = status.status
    message.updated_at = at
    session.add(StatusUpdate(message_id=message.id, status=status.status, at=at, raw=status.model_dump()))


async def run(url: str, count: int) -> WebhookResult:
    """`count` statuses, each for a message that is there."""
    async with database.fresh(url, "bench_naive_webhook") as own:
        await _prepare(own, count)
        name, module = "FastAPI + SQLAlchemy, PostgreSQL", "bench.peers.naive_webhook"
        result = await asyncio.to_thread(measure, name, module, ["--url", own], count)
        await _check(own, count)
        return result


async def _prepare(url: str, count: int) -> None:
    engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"))
    async with engine.begin() as connection:
        await connection.run_sync(Table.metadata.create_all)
    await engine.dispose()
    plain = await asyncpg.connect(url)
    rows = ((wamid(number), "sent", datetime.now(UTC)) for number in range(count))
    await plain.copy_records_to_table("messages", records=rows, columns=["wamid", "status", "updated_at"])
    await plain.execute("VACUUM ANALYZE")
    await plain.close()


async def _check(url: str, count: int) -> None:
    plain = await asyncpg.connect(url)
    assert await plain.fetchval("SELECT count(*) FROM messages WHERE status = 'delivered'") == count
    await plain.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="postgresql://…, a server on which databases may be created")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--serve", action="store_true", help="only serve, on a free port that is printed")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(application(arguments.url, SECRET))
    else:
        print(uvloop.run(run(arguments.url, arguments.count)))


if __name__ == "__main__":
    main()
