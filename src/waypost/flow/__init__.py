"""The steps of the server, one folder per area. Steps meet in the Ledger, so a crash between two of them is harmless.

- `sending`: a caller posts a message. It is stored QUEUED, claimed, sent to the provider and settled.
- `receiving`: Meta posts a webhook. Status updates are applied, inbound messages join their conversation.
- `conversations`: an inbound message starts a turn. The bot answers the whole burst, or a user does.
- `live`: every change appends to feeds. Devices follow their feeds, offline users get push notifications.
- `history`: consumers read the feeds and archive message bodies.
- `accounts`: callers are authenticated; orgs manage their numbers, users and policies.
- `operations`: maintenance and invariant checks run in the background; operators read audit and overview.

Each folder's docstring lists its modules. `world` holds the ports that the steps use. `number_cache`, `mailbox_cache`,
`policy_cache` and `template_cache` keep an org's rows in memory; `time_zones` finds a phone number's local time,
and `claim_age` tells whether a claim is still young enough to act on.

A step may call a step of a lower area, never one of its own layer in another area: the contract `flow` in
pyproject.toml holds the order.
"""
