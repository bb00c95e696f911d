-- name: feeds_standing_of
SELECT f.name, f.head, coalesce(r.seq, 0) FROM json_each($1) AS u CROSS JOIN feed f ON f.name = u.value
LEFT JOIN feed_reader r ON r.reader = $2 AND r.feed = f.name
