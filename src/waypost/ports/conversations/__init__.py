"""Turns, conversations, chats, bots and search."""
