-- name: feed_heads
SELECT f.name, f.head FROM json_each($1) AS u CROSS JOIN feed f ON f.name = u.value
