"""Email out, by SMTP."""
