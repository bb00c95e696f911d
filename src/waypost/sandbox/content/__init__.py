"""What a message may contain: Meta's checks, recipients and templates."""
