"""The WebSocket, long poll and push subscriptions."""
