"""Webhooks in: status updates, inbound messages, account updates and media.

- `receive_webhook`: checks signatures and applies a POST in one transaction
- `consent_words`: records STOP and START and confirms them
- `account_updates`: applies what Meta reports about an account
- `replay_webhook`: applies a journal item again on request
- `fetch_media`: downloads customers' files before the provider deletes them
"""
