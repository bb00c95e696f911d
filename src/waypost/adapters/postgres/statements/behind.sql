-- name: feeds_standing_of
-- The same for the named feeds only: those that a hint named.
SELECT f.name, f.head, coalesce(r.seq, 0) FROM unnest($1::text[]) AS u (name)
CROSS JOIN LATERAL (SELECT x.name, x.head FROM feed x WHERE x.name = u.name LIMIT 1) f
LEFT JOIN LATERAL (SELECT x.seq FROM feed_reader x WHERE x.reader = $2 AND x.feed = u.name LIMIT 1) r ON TRUE

-- name: feed_reader_ensure (set-wise)
INSERT INTO feed_reader (reader, feed, seq) SELECT u.reader, u.feed, 0 FROM unnest($1::text[], $2::text[]) AS u (reader, feed)
ON CONFLICT (reader, feed) DO NOTHING

-- name: feed_reader_move (set-wise)
-- The second worker with the same items gets no row, and skips them.
UPDATE feed_reader r SET seq = u.seq
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS u (reader, feed, before, seq)
WHERE r.reader = u.reader AND r.feed = u.feed AND r.seq = u.before RETURNING r.feed
