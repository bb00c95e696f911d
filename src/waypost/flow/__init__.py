"""The story of a message, one file per step; steps never call each other, they meet in the Ledger.

- `admit`    who is asking, and what they may do
- `submit`   a caller's message is checked and stored, QUEUED
- `deliver`  claimed in batches, sent to the provider, settled: SENT, another try, FAILED or unsure
- `confirm`  webhooks in: signatures checked, statuses climb the ladder, customers' messages join their conversation
- `converse`  a turn is due: claimed, the bot answers the whole burst, the reply and the end of the turn commit together
- `take_over`  the turns of a worker that is known to be gone are free at once
- `await_status`  a caller who asked to wait sees the status, or the timeout
- `dead_letters`  what failed is opened again, when a person says so
- `fetch_media`  customers' files are fetched before the provider forgets them, and put on the shelf
- `tend`     unsure sends, statuses without a message, the count of how long the door was open
- `detect`   a look at live data for what must never be

`channels` says which way a message goes, `failover` gives what waits to a second number, `extras` are read receipts and
uploads, `mailboxes` how mailboxes are connected. `numbers` and `mail_book` keep who sends at hand for all of them,
`template_book` and `templates` what their accounts may send at any time; `read_back` tells why a message waits and
`policy` what the rules are, for whoever asks; `world` is everything they stand on.
"""
