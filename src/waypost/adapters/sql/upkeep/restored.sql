-- After a backup was restored: numbers that were given away since it was taken must not be given away again.
-- :skip and :token are filled in; every statement is run once, on the whole table, while no server runs; where its table
-- is not in the schema, it is left out.

-- name: feeds_read
-- Also for who has not begun to read behind the feeds: there is nothing before the first item.
INSERT INTO feed_reader (reader, feed, seq) SELECT 'search', name, 0 FROM feed WHERE TRUE
UNION ALL SELECT 'log', name, 0 FROM feed WHERE TRUE ON CONFLICT (reader, feed) DO NOTHING

-- name: readers_moved
UPDATE feed_reader SET seq = seq + :skip WHERE reader <> 'log'

-- name: log_handed_over_again
-- The Log may be of another day than this: whatever the feeds still hold is handed over once more, what was taken back
-- among it.
UPDATE feed_reader SET seq = :skip + coalesce((SELECT min(i.seq) - 1 FROM feed_item i WHERE i.feed = feed_reader.feed), seq)
WHERE reader = 'log'

-- name: handed_over_moved
UPDATE handed_over SET since = since + :skip, upto = upto + :skip

-- name: noticed_moved
UPDATE notice_feed SET seq = seq + :skip

-- name: notices_moved
UPDATE notice SET seq = seq + :skip

-- name: members_moved
-- Only where the group's own feed has begun.
UPDATE member SET feed_from = feed_from + :skip
WHERE EXISTS (SELECT 1 FROM feed f WHERE f.name = 'group:' || member.conversation_id)

-- name: items_moved
UPDATE feed_item SET seq = seq + :skip

-- name: feeds_moved
-- Whoever stands at a number from before finds that what follows it is gone, and reads everything anew.
UPDATE feed SET head = head + :skip

-- name: devices_renewed
UPDATE device SET epoch = substr(epoch, 1, 12) || '-' || ':token'

-- name: orgs_told
INSERT INTO audit (org_id, at, entity_type, entity_id, action, actor, details)
SELECT id, :now, 'ORG', id, 'RESTORED', 'cli', 'from a backup' FROM org
