"""Turns, posts and the inbox.

- `answer_turn`: claims a due turn, asks the bot, commits the reply with the end of the turn
- `reclaim_turns`: frees the turns of a worker that is known to be gone
- `turns`: lists and replays turns, moves the floor, removes users
- `post`: a user writes to a customer, another user or a group
- `inbox`: conversations, chats, their messages, members and read markers
- `bot_images`: loads the images that a bot may see
- `archived_bodies`: loads bodies that only the history store has
- `failure_text`: explains why a message failed
- `search`: indexes messages and finds them by word
"""
