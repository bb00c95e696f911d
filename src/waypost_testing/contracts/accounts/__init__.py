"""Orgs, dossiers, mailboxes, policies and secrets."""
