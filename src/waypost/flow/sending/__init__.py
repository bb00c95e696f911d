"""Outbound messages, from the request to the provider.

- `submit`: checks a message and stores it, QUEUED
- `messages`: reads stored messages, retries and cancels one
- `deliver`: claims batches, calls the provider, settles: SENT, retry, FAILED or unsure
- `await_status`: waits for a status if the caller asked for it
- `failover`: moves messages of a number that cannot send to a second one
- `dead_letters`: queues failed messages again on request
- `channels`: finds the provider for a message
- `marketing`: refuses marketing to people who opted out
- `templates`: reads, syncs and previews templates
- `read_receipts`: sends read receipts and typing indicators
- `media_upload`: uploads a caller's file to the provider
- `provider_calls`: picks the number and retries, for the two above
"""
