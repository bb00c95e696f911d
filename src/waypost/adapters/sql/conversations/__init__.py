"""Turns, conversations, chats, devices and search."""
