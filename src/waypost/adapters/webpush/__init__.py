"""Web Push: RFC 8030 requests, RFC 8291 encryption, RFC 8292 identification."""
