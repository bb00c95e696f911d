"""Orgs, users, numbers, mailboxes, dossiers and policies."""
