"""Ids, each with its own type, so that one cannot be passed for another."""

from __future__ import annotations

from typing import NewType

OrgId = NewType("OrgId", str)
KeyId = NewType("KeyId", str)
UserId = NewType("UserId", str)
NumberId = NewType("NumberId", str)
"""Meta's `phone_number_id` of a connected business number."""

MAILBOX = "mail_"

MailboxId = NewType("MailboxId", str)
"""Our id of a connected mailbox (`mail_…`); it takes the place of a number's id as the sender of a message."""

MessageId = NewType("MessageId", int)
Fence = NewType("Fence", int)
"""The number of claims of a message over its whole life; a worker with an older fence has lost the message."""

QueueId = NewType("QueueId", int)
Wamid = NewType("Wamid", str)
WorkerId = NewType("WorkerId", str)
"""One start of one process; never reused."""


def is_mailbox(sender: str) -> bool:
    return sender.startswith(MAILBOX)
