"""STOP and START: a message that consists of one of these words opts out of all messages, or in again."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any

import msgspec

from waypost.model.dossier import ConsentStatus
from waypost.model.policy import ConsentWords
from waypost.model.time import Instant, seconds
from waypost.rules.conversations import message_text

STOP = (
    *("stop", "stop all", "stopall", "unsubscribe", "opt out", "optout", "quit", "cancel", "end"),
    *("stopp", "abmelden", "abbestellen", "arret", "arreter", "desabonner", "se desabonner", "baja", "parar", "alto"),
    *("cancelar", "sair", "descadastrar", "annulla", "disiscrivimi", "afmelden", "rezygnuje", "iptal", "dur", "стоп"),
    *("отписаться", "إيقاف", "停止", "退订", "रोकें"),
)
START = (
    *("start", "unstop", "subscribe", "opt in", "optin", "resume"),
    *("anmelden", "abonnieren", "s'abonner", "alta", "suscribir", "iniciar", "inscrever", "iscrivimi", "aanmelden"),
    *("basla", "старт", "подписаться", "ابدأ", "开始", "订阅", "शुरू"),
)
STOPPED = "You are unsubscribed and will get no more messages from us. Reply START to get them again."
STARTED = "You are subscribed again. Reply STOP at any time to get no more messages."
SAID_IN = ("text", "button")
"""Message types that count: text, and a template's own quick reply. "Cancel" on a button of a bot's question, as a
caption or as the name of a place means something else."""
CAN_SAY = (*SAID_IN, "edit")
"""Message types to check: an edit may change a message to STOP."""
LONGEST = 40
"""A longer message is not checked."""


class ConsentDecision(msgspec.Struct, frozen=True):
    """A customer's decision and the confirmation text; if empty, no confirmation is sent."""

    status: ConsentStatus
    word: str
    confirmation: str


def consent_in_message(message: dict[str, Any], chosen: ConsentWords | None) -> ConsentDecision | None:
    """The decision in a message; an edit to STOP counts, too."""
    latest = message_text.as_edited(message)
    return consent_in_text(message_text.words(latest), chosen) if message_text.kind_of(latest) in SAID_IN else None


def consent_in_text(text: str, chosen: ConsentWords | None) -> ConsentDecision | None:
    """Only if the word is the whole message: "don't stop" does not count."""
    if len(text) > LONGEST:
        return None
    words = chosen or _USUAL
    meaning = _meanings(words).get(_bare(text))
    if meaning is None or not words.enabled:
        return None
    if meaning is ConsentStatus.REVOKED:
        return ConsentDecision(meaning, _bare(text), STOPPED if words.stop_reply is None else words.stop_reply)
    return ConsentDecision(meaning, _bare(text), STARTED if words.start_reply is None else words.start_reply)


def counts_from(status: ConsentStatus, written_at: Instant, latest: Instant | None, now: Instant) -> Instant | None:
    """From when a customer's decision counts; None if the customer or a user of the org recorded a later consent.

    At the same time, the later call counts. In doubt, STOP wins: a message has a time in whole seconds, and a record
    from the future was written by a wrong clock, unless ours is wrong.
    """
    at = min(written_at, now)
    if latest is None or latest <= at:
        return at
    in_doubt = latest < at + seconds(1) or latest > now
    return latest if in_doubt and status is ConsentStatus.REVOKED else None


_USUAL = ConsentWords()


@lru_cache(maxsize=1024)
def _meanings(words: ConsentWords) -> dict[str, ConsentStatus]:
    """A word in both lists means STOP."""
    start = {_bare(word): ConsentStatus.GRANTED for word in (START if words.start is None else words.start)}
    return start | {_bare(word): ConsentStatus.REVOKED for word in (STOP if words.stop is None else words.stop)}


def _bare(text: str) -> str:
    """Without case, accents, and surrounding punctuation."""
    plain = text.casefold()
    if not plain.isascii():
        characters = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in characters if not "\u0300" <= c <= "\u036f")
    return " ".join(plain.strip(_AROUND).split())


_AROUND = " \t\r\n.!?,;:'\"*_~()[]»«…"
