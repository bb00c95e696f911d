"""STOP and START: a whole message that is one of these words says no, or yes again, to everything we send."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import msgspec

from waypost.model.dossier import ConsentStatus
from waypost.model.policy import ConsentWords

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
LONGEST = 40
"""A longer message is not one word, whatever it says."""


class Said(msgspec.Struct, frozen=True):
    """What a customer has just decided, and how we confirm it; without a text nothing is confirmed."""

    status: ConsentStatus
    word: str
    confirmation: str


def heard(text: str, chosen: ConsentWords | None) -> Said | None:
    """Only where the whole message is the word: "don't stop" says nothing."""
    words = chosen or ConsentWords()
    said = _bare(text) if len(text) <= LONGEST else ""
    if not said or not words.enabled:
        return None
    if said in _bare_words(words.stop, STOP):
        return Said(ConsentStatus.REVOKED, said, STOPPED if words.stop_reply is None else words.stop_reply)
    if said in _bare_words(words.start, START):
        return Said(ConsentStatus.GRANTED, said, STARTED if words.start_reply is None else words.start_reply)
    return None


def _bare_words(chosen: Iterable[str] | None, usual: Iterable[str]) -> set[str]:
    return {_bare(word) for word in (usual if chosen is None else chosen)}


def _bare(text: str) -> str:
    """Without case, accents, and what stands around it."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in letters if unicodedata.category(c) != "Mn" or ord(c) > 0x300 + 0x70)
    return " ".join(plain.strip(" \t\r\n.!?,;:'\"*_~()[]»«…").split())
