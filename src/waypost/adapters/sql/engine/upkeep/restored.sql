-- After a restore from a backup: numbers that were assigned since the backup must not be assigned again.
-- :skip and :token are filled in. Every statement runs once, on the whole table, while no server runs; a statement on a
-- table that the schema does not have is left out.

-- name: feeds_read
-- Also for consumers that have not started yet: there is nothing before the first item.
INSERT INTO feed_reader (reader, feed, seq) SELECT 'search', name, 0 FROM feed WHERE TRUE
UNION ALL SELECT 'log', name, 0 FROM feed WHERE TRUE ON CONFLICT (reader, feed) DO NOTHING

-- name: readers_moved
UPDATE feed_reader SET seq = seq + :skip WHERE reader <> 'log'

-- name: history_archived_again
-- The history store may be from another day than the backup: archive everything that the feeds still hold once more,
-- deletions included.
UPDATE feed_reader SET seq = :skip + coalesce((SELECT min(i.seq) - 1 FROM feed_item i WHERE i.feed = feed_reader.feed), seq)
WHERE reader = 'log'

-- name: handed_over_moved
UPDATE handed_over SET since = since + :skip, upto = upto + :skip

-- name: noticed_moved
UPDATE notice_feed SET seq = seq + :skip

-- name: notices_moved
UPDATE notice SET seq = seq + :skip

-- name: members_moved
-- Only for groups with a feed of their own.
UPDATE member SET feed_from = feed_from + :skip
WHERE EXISTS (SELECT 1 FROM feed f WHERE f.name = 'group:' || member.conversation_id)

-- name: items_moved
UPDATE feed_item SET seq = seq + :skip

-- name: feeds_moved
-- A device with an older cursor finds a gap after it, and reloads everything.
UPDATE feed SET head = head + :skip

-- name: devices_renewed
UPDATE device SET epoch = substr(epoch, 1, 12) || '-' || ':token'

-- name: orgs_told
INSERT INTO audit (org_id, at, entity_type, entity_id, action, actor, details)
SELECT id, :now, 'ORG', id, 'RESTORED', 'cli', 'from a backup' FROM org
