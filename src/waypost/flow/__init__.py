"""The story of a message, one file per step; steps never call each other, they meet in the Ledger.

What we send:

- `admit`    who is asking, and what they may do
- `try_number`  the provider is asked whether a number and its token fit
- `submit`   a caller's message is checked and stored, QUEUED
- `deliver`  claimed in batches, sent to the provider, settled: SENT, another try, FAILED or unsure
- `await_status`  a caller who asked to wait sees the status, or the timeout
- `failover`  what waits for a number that cannot send for long goes from a second one
- `dead_letters`  what failed is opened again, when a person says so

What comes in, and its answer:

- `confirm`  webhooks in: signatures checked, statuses climb the ladder, customers' messages join their conversation
- `consent_words`  a STOP or START among them is stored and confirmed with the message itself
- `account_updates`  what Meta tells of an account: held, limited, templates changed, wishes, alerts
- `replay`   an item of the journal is taken again, when a person says so
- `fetch_media`  customers' files are fetched before the provider forgets them, and put on the shelf
- `converse`  a turn is due: claimed, the bot answers the whole burst, the reply and the end of the turn commit together
- `take_over`  the turns of a worker that is known to be gone are free at once
- `turns`    what people see of turns; they replay, take over and hand back

What people see and say:

- `sign_in`  a browser's cookie in place of a person's token
- `post`     a person writes: to a customer, to one other, to a group
- `inbox`    lists, histories, chats and their members, reading, the team's work
- `devices`  a device says hello: where each of its feeds goes on
- `follow`   feeds as they grow, read once for everybody who follows them
- `notify`   who is away is told that a message waits

What nobody asks for:

- `tend`     unsure sends, statuses without a message, the count of how long the door was open
- `search`   what was said is indexed a moment later, and found by its words
- `hand_over`  what was said goes to a Log of its own, if there is one; later its body goes from the Ledger
- `budgets`  whoever has spent enough waits until there is room again
- `detect`   a look at live data for what must never be
- `reseal`   a new key for the secrets at rest, while servers go on

They stand on what is no step: `read_behind` follows the feeds for those who index and hand over, `bodies` brings back
what only the Log has, `explain` says why a message failed, `channels` which way one goes, `marketing` who wants none,
`pictures` what a bot may look at, `time_zones` what night is where. `numbers` and `mail_book` keep who sends at hand,
`template_book` and `templates` what their accounts may send at any time, `policies` and `policy_book` what an org has
set for itself. For whoever asks, `read_back` tells why a message waits, `policy` what the rules are, `audit` who did
what, `overview` what is going on. `extras` are read receipts and uploads, `mailboxes` how mailboxes are connected,
`dossiers` who the customers are and what they agreed to, `quick_replies` what a team often says. `world` holds it all
together.
"""
