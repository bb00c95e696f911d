"""The Python client: what happens, in order, and sends that arrive once (docs/reference/client-behaviour.md)."""

from waypost.client.client import Client
from waypost.client.nouns import (
    AskRefused,
    ClientError,
    Conversation,
    Fetching,
    Happening,
    Heard,
    Item,
    Message,
    Queued,
    QueueFull,
    Refusal,
    Reset,
    SendRefused,
    Sent,
    State,
    StateIs,
    Stopped,
    StoreInUse,
    Tried,
)
from waypost.client.store import FileStore, MemoryStore, Store
from waypost.client.timing import Timing

__all__ = [
    "AskRefused",
    "Client",
    "ClientError",
    "Conversation",
    "Fetching",
    "FileStore",
    "Happening",
    "Heard",
    "Item",
    "MemoryStore",
    "Message",
    "QueueFull",
    "Queued",
    "Refusal",
    "Reset",
    "SendRefused",
    "Sent",
    "State",
    "StateIs",
    "Stopped",
    "Store",
    "StoreInUse",
    "Timing",
    "Tried",
]
