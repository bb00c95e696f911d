"""STOP and START: a whole message that is one of these words says no, or yes again, to everything we send."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any

import msgspec

from waypost.model.dossier import ConsentStatus
from waypost.model.policy import ConsentWords
from waypost.model.time import Instant, seconds
from waypost.rules import people

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
"""Kinds of messages that can say it: words, and a template's own quick reply. "Cancel" on a button of a bot's question,
under a picture or as the name of a place is an answer to something else."""
CAN_SAY = (*SAID_IN, "edit")
"""Kinds that need to be read to know: an edit makes another message of an earlier one."""
LONGEST = 40
"""A longer message is not one word, whatever it says."""


class Said(msgspec.Struct, frozen=True):
    """What a customer has just decided, and how we confirm it; without a text nothing is confirmed."""

    status: ConsentStatus
    word: str
    confirmation: str


def heard_in(message: dict[str, Any], chosen: ConsentWords | None) -> Said | None:
    """What a message says, or makes of an earlier one: who edits a message to STOP has said it."""
    stands = people.as_edited(message)
    return heard(people.words(stands), chosen) if people.kind_of(stands) in SAID_IN else None


def heard(text: str, chosen: ConsentWords | None) -> Said | None:
    """Only where the whole message is the word: "don't stop" says nothing."""
    if len(text) > LONGEST:
        return None
    words = chosen or _USUAL
    meaning = _meanings(words).get(_bare(text))
    if meaning is None or not words.enabled:
        return None
    if meaning is ConsentStatus.REVOKED:
        return Said(meaning, _bare(text), STOPPED if words.stop_reply is None else words.stop_reply)
    return Said(meaning, _bare(text), STARTED if words.start_reply is None else words.start_reply)


def counts_from(status: ConsentStatus, written_at: Instant, latest: Instant | None, now: Instant) -> Instant | None:
    """From when a customer's word counts; None where somebody, they or a person of the org, has said something since.

    Of the same moment, the one that comes later counts. In doubt it is a no: a message only says in which second it was
    written, and what is on record from the future was written by a clock that is wrong, unless ours is.
    """
    at = min(written_at, now)
    if latest is None or latest <= at:
        return at
    in_doubt = latest < at + seconds(1) or latest > now
    return latest if in_doubt and status is ConsentStatus.REVOKED else None


_USUAL = ConsentWords()


@lru_cache(maxsize=1024)
def _meanings(words: ConsentWords) -> dict[str, ConsentStatus]:
    """A word that is in both lists says no."""
    start = {_bare(word): ConsentStatus.GRANTED for word in (START if words.start is None else words.start)}
    return start | {_bare(word): ConsentStatus.REVOKED for word in (STOP if words.stop is None else words.stop)}


def _bare(text: str) -> str:
    """Without case, accents, and what stands around it."""
    plain = text.casefold()
    if not plain.isascii():
        letters = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in letters if not "\u0300" <= c <= "\u036f")
    return " ".join(plain.strip(_AROUND).split())


_AROUND = " \t\r\n.!?,;:'\"*_~()[]»«…"
