"""Routes of orgs, numbers, users, dossiers and policies."""
