"""Turns, bot answers, contacts and chats."""
