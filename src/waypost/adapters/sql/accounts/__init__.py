"""Orgs, users, consents, dossiers, mailboxes and policies."""
