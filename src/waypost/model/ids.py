"""Names of things, each its own type, so that one is never passed where another is meant."""

from __future__ import annotations

from typing import NewType

OrgId = NewType("OrgId", str)
KeyId = NewType("KeyId", str)
UserId = NewType("UserId", str)
NumberId = NewType("NumberId", str)
"""Meta's `phone_number_id` of a connected business number."""

MAILBOX = "mail_"

MailboxId = NewType("MailboxId", str)
"""Ours of a connected mailbox (`mail_…`); as the sender of a message it stands where a number's id does."""

MessageId = NewType("MessageId", int)
Fence = NewType("Fence", int)
"""The count of claims of a message over its whole life; whoever holds an old one has lost the message."""

QueueId = NewType("QueueId", int)
Wamid = NewType("Wamid", str)
WorkerId = NewType("WorkerId", str)
"""One start of one process; never reused."""


def is_mailbox(sender: str) -> bool:
    return sender.startswith(MAILBOX)
