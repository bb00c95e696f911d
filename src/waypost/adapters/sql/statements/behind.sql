-- name: feeds_standing
-- Feeds in the order of their names, with the consumer's position in each.
SELECT f.name, f.head, coalesce(r.seq, 0) FROM feed f LEFT JOIN feed_reader r ON r.reader = $3 AND r.feed = f.name
WHERE f.name > $1 ORDER BY f.name LIMIT $2

-- name: feed_reader_ensure
-- A consumer's position in a feed that it has not read before.
INSERT INTO feed_reader (reader, feed, seq) VALUES ($1, $2, 0) ON CONFLICT (reader, feed) DO NOTHING

-- name: feed_reader_move
-- The second worker with the same items gets no row, and skips them.
UPDATE feed_reader SET seq = $4 WHERE reader = $1 AND feed = $2 AND seq = $3 RETURNING feed
