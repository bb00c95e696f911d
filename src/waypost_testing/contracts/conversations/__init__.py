"""Turns, chats and search."""
