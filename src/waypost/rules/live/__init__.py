"""Cursors, catching up, push notifications."""
