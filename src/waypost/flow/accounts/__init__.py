"""Callers and their rights, and an org's own settings.

- `access`: authenticates callers; creates orgs, keys, users and numbers
- `sign_in`: exchanges a user token for a browser cookie
- `check_number`: asks the provider whether a number and its token work
- `mailboxes`: connects mailboxes for email
- `policies`: changes an org's policy; applies its quiet hours and request rate
- `budgets`: holds an org that has spent its budget
- `dossiers`: customers' dossiers and their consents
- `quick_replies`: the team's saved texts
- `reseal`: encrypts stored secrets with a new key while servers run
"""
