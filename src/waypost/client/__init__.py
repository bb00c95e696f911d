"""The Python client: ordered items, and messages that are sent exactly once (docs/reference/client-behaviour.md)."""

from waypost.client.client import Client
from waypost.client.store import FileStore, MemoryStore, Store
from waypost.client.timing import Timing
from waypost.client.types import (
    ClientError,
    ClientEvent,
    Conversation,
    EphemeralEvent,
    Fetching,
    Item,
    Message,
    QueueFull,
    RequestRefused,
    Reset,
    SendAttempted,
    SendQueued,
    SendRefused,
    SendRejected,
    SendStored,
    State,
    StateChanged,
    Stopped,
    StoreInUse,
)

__all__ = [
    "Client",
    "ClientError",
    "ClientEvent",
    "Conversation",
    "EphemeralEvent",
    "Fetching",
    "FileStore",
    "Item",
    "MemoryStore",
    "Message",
    "QueueFull",
    "RequestRefused",
    "Reset",
    "SendAttempted",
    "SendQueued",
    "SendRefused",
    "SendRejected",
    "SendStored",
    "State",
    "StateChanged",
    "Stopped",
    "Store",
    "StoreInUse",
    "Timing",
]
