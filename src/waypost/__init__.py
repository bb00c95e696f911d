"""Waypost: a WhatsApp Business messaging server."""

from waypost.model.turn import Customer, Handover, Turn, TurnMessage

__version__ = "0.1.0"

__all__ = ["Customer", "Handover", "Turn", "TurnMessage"]
