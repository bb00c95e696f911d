"""Routes of conversations, chats, search and media."""
