-- Messages that were queued when the backup was taken may have been sent since: an operator decides. Order matters:
-- each note selects rows by the state that the next statement changes.

-- name: queued_noted
INSERT INTO event (message_id, at, kind, detail)
SELECT message_id, :now, 'held', 'restored from a backup: it may have been sent since' FROM delivery WHERE status = 'QUEUED'

-- name: messages_held
UPDATE delivery SET status = 'FAILED', error_code = 'RESTORED',
    error_message = 'it waited when the backup was taken, and may have been sent since', due_at = NULL, owner = NULL,
    deferred_by = NULL, updated_at = :now
WHERE status = 'QUEUED'

-- name: sends_noted
INSERT INTO event (message_id, at, kind, detail)
SELECT message_id, :now, 'parked', 'restored from a backup: its status may have come before' FROM delivery
WHERE status = 'SENDING' AND NOT parked

-- name: sends_parked
UPDATE delivery SET parked = TRUE, owner = NULL, error_code = ':unsure',
    error_message = 'it was under way when the backup was taken', updated_at = :now
WHERE status = 'SENDING' AND NOT parked

-- name: ready_emptied
DELETE FROM ready

-- name: later_emptied
DELETE FROM later

-- name: lines_emptied
DELETE FROM queue_line

-- name: heads_freed
UPDATE queue SET head = NULL

-- name: expiring_emptied
DELETE FROM expiring WHERE message_id IN (SELECT message_id FROM delivery WHERE status = 'FAILED')

-- name: floors_noted
INSERT INTO audit (org_id, at, entity_type, entity_id, action, actor, details)
SELECT org_id, :now, 'CONVERSATION', CAST(conversation_id AS text), 'FLOOR_CHANGED', 'cli', 'restored from a backup'
FROM lane WHERE floor = 'bot' AND tail > done

-- name: turns_handed_over
-- The bot may have answered since, so a user reviews the conversation first.
UPDATE lane SET floor = 'human', fence = fence + 1, hi = NULL, owner = NULL, claimed_at = NULL, lease_until = NULL,
    tries = 0, first_at = NULL, due_at = NULL
WHERE floor = 'bot' AND tail > done
