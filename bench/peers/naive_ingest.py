"""What customers write, as most would take it: FastAPI, pydantic, SQLAlchemy, one transaction per request."""

from __future__ import annotations

import argparse
import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field
from sqlalchemy import DateTime, ForeignKey, UniqueConstraint, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bench.load import SECRET
from bench.peers import database
from bench.peers.naive_webhook import Sessions, signed
from bench.peers.serving import WebhookResult, measure, serve

NAME = "FastAPI + SQLAlchemy, PostgreSQL"
QUIET, WINDOW = timedelta(seconds=3), timedelta(hours=24)
TRIES = 5
"""Of a request that met another one about the same customer, or found a line stored meanwhile."""


class Table(DeclarativeBase):
    pass


class Dossier(Table):
    __tablename__ = "dossiers"
    id: Mapped[int] = mapped_column(primary_key=True)
    phone: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str | None]


class Contact(Table):
    __tablename__ = "contacts"
    id: Mapped[int] = mapped_column(primary_key=True)
    phone: Mapped[str] = mapped_column(unique=True)
    user_id: Mapped[str | None] = mapped_column(unique=True)
    name: Mapped[str | None]
    dossier_id: Mapped[int] = mapped_column(ForeignKey("dossiers.id"))


class Conversation(Table):
    __tablename__ = "conversations"
    __table_args__ = (UniqueConstraint("contact_id", "number"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    contact_id: Mapped[int] = mapped_column(ForeignKey("contacts.id"))
    number: Mapped[str]
    position: Mapped[int] = mapped_column(default=0)
    window_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class Entry(Table):
    __tablename__ = "entries"
    __table_args__ = (UniqueConstraint("number", "wamid"), UniqueConstraint("conversation_id", "position"))
    id: Mapped[int] = mapped_column(primary_key=True)
    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id"))
    position: Mapped[int]
    number: Mapped[str]
    wamid: Mapped[str]
    body: Mapped[dict[str, Any]] = mapped_column(JSONB)


class TurnState(Table):
    __tablename__ = "lanes"
    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id"), primary_key=True)
    tail: Mapped[int]
    due_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), index=True)


class FeedItem(Table):
    __tablename__ = "feed_items"
    id: Mapped[int] = mapped_column(primary_key=True)
    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id"))
    position: Mapped[int]


class Text(BaseModel):
    body: str


class Message(BaseModel):
    id: str
    sender: str = Field(alias="from")
    from_user_id: str | None = None
    timestamp: str
    type: str
    text: Text | None = None


class Profile(BaseModel):
    name: str


class Who(BaseModel):
    profile: Profile
    wa_id: str


class Metadata(BaseModel):
    phone_number_id: str


class Value(BaseModel):
    metadata: Metadata
    contacts: list[Who] = []
    messages: list[Message] = []


class Change(BaseModel):
    field: str
    value: Value


class Account(BaseModel):
    id: str
    changes: list[Change]


class Webhook(BaseModel):
    object: str
    entry: list[Account]


def application(url: str, secret: str) -> FastAPI:
    return signed(url, secret, _take)


async def _take(body: bytes, sessions: Sessions) -> None:
    told = Webhook.model_validate_json(body)
    for _ in range(TRIES):
        try:
            async with sessions.begin() as session:
                for change in (change for account in told.entry for change in account.changes):
                    for message in change.value.messages:
                        await _apply(message, change.value, session)
        except IntegrityError:  # somebody stored the same customer, or the same line, in the meantime
            continue
        return
    raise HTTPException(status_code=503)


async def _apply(message: Message, value: Value, session: AsyncSession) -> None:
    number = value.metadata.phone_number_id
    known = select(Entry.id).where(Entry.number == number, Entry.wamid == message.id)
    if await session.scalar(known) is not None:
        return
    contact = await _contact(message, value, session)
    talk = await _conversation(contact, number, session)
    at = datetime.now(UTC)
    talk.position += 1
    talk.window_until = at + WINDOW
    body = message.model_dump()
    session.add(
        Entry(conversation_id=talk.id, position=talk.position, number=number, wamid=message.id, body=body),
    )
    lane = await session.get(TurnState, talk.id)
    if lane is None:
        session.add(TurnState(conversation_id=talk.id, tail=talk.position, due_at=at + QUIET))
    else:
        lane.tail, lane.due_at = talk.position, at + QUIET
    session.add(FeedItem(conversation_id=talk.id, position=talk.position))


async def _contact(message: Message, value: Value, session: AsyncSession) -> Contact:
    name = next((who.profile.name for who in value.contacts if who.wa_id == message.sender), None)
    contact = await session.scalar(select(Contact).where(Contact.phone == message.sender))
    if contact is not None:
        contact.name = name or contact.name
        return contact
    dossier = Dossier(phone=message.sender, name=name)
    session.add(dossier)
    await session.flush()
    contact = Contact(phone=message.sender, user_id=message.from_user_id, name=name, dossier_id=dossier.id)
    session.add(contact)
    await session.flush()
    return contact


async def _conversation(contact: Contact, number: str, session: AsyncSession) -> Conversation:
    wanted = select(Conversation).where(Conversation.contact_id == contact.id, Conversation.number == number)
    talk = await session.scalar(wanted.with_for_update())
    if talk is None:
        talk = Conversation(contact_id=contact.id, number=number, position=0)
        session.add(talk)
        await session.flush()
    return talk


async def run(url: str, count: int, bodies: Path, customers: int) -> WebhookResult:
    """`count` lines of a file, written by so many customers."""
    async with database.fresh(url, "bench_naive_ingest") as own:
        engine = create_async_engine(own.replace("postgresql://", "postgresql+asyncpg://"))
        async with engine.begin() as connection:
            await connection.run_sync(Table.metadata.create_all)
        await engine.dispose()
        module = "bench.peers.naive_ingest"
        result = await asyncio.to_thread(measure, NAME, module, ["--url", own], count, bodies=bodies)
        plain = await asyncpg.connect(own)
        assert await plain.fetchval("SELECT count(*) FROM entries") == count
        assert await plain.fetchval("SELECT count(*) FROM lanes") == customers
        await plain.close()
        return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="postgresql://…, whose tables are there")
    parser.add_argument("--serve", action="store_true", help="on a free port that is printed")
    arguments = parser.parse_args()
    serve(application(arguments.url, SECRET))


if __name__ == "__main__":
    main()
