"""Translates the SDK's errors: whether another attempt may help, and when."""

from __future__ import annotations

from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

from waypost.ports.conversations.bot import BotFailed
from waypost.rules.text.redact import redact, without
from waypost.rules.text.retry_after import retry_after_seconds

_COME_AGAIN = frozenset({408, 409, 425, 429})
_SHOWN = 300
_HINTS = {
    401: "check WAYPOST_OPENAI_API_KEY",
    403: "the key may not use this model",
    404: "check WAYPOST_OPENAI_BASE_URL and WAYPOST_OPENAI_MODEL",
}


def translate_error(error: APIError, key: str) -> BotFailed:
    match error:
        case APIStatusError():
            return _status(error, key)
        case APITimeoutError():
            return BotFailed("the model's server did not answer in time")
        case APIConnectionError():
            return BotFailed("the model's server could not be reached, or hung up")
        case _:
            return BotFailed(f"the model's answer broke off: {_words(error, key)}")


def is_filtered(error: APIError) -> bool:
    """Some servers filter the customer's message before the model sees it."""
    return error.code == "content_filter"


def _status(error: APIStatusError, key: str) -> BotFailed:
    status = error.status_code
    may_change = status in _COME_AGAIN or status >= 500
    hint = f" ({_HINTS[status]})" if status in _HINTS else ""
    return BotFailed(
        f"the model's server answered HTTP {status}: {_words(error, key)}{hint}",
        hopeless=not may_change,
        retry_after=retry_after_seconds(error.response.headers.get("retry-after")) if may_change else None,
    )


def _words(error: APIError, key: str) -> str:
    """The server's own message, not the SDK's dump of the whole body."""
    text = error.body.get("message") if isinstance(error.body, dict) else None
    words = text if isinstance(text, str) else error.message
    return " ".join(redact(without(key, words)).split())[:_SHOWN]
