"""Enough rows in every large table of PostgreSQL that its planner must choose."""

FILL = """
INSERT INTO message (org_id, sender, channel, recipient, payload, dossier_id, idempotency_key, digest, priority,
    ordered, max_attempts, created_at)
SELECT 'org-' || n % 50, 'number-' || n % 50, 'WHATSAPP', '+49' || n % 2000, '{}', n % 1000, 'key-' || n, 'x', 5, FALSE,
    5, n
FROM generate_series(1, 30000) n;
INSERT INTO outlet (id, org_id, sender, template)
SELECT n, 'org-' || n % 50, 'number-' || n % 50, CASE WHEN n > 50 THEN 't-' || n ELSE '' END
FROM generate_series(1, 3000) n;
INSERT INTO permit (name, most) SELECT 'quota:org-' || n, 1000 FROM generate_series(1, 3000) n;
INSERT INTO permit (name) SELECT 'pace:number-' || n FROM generate_series(1, 3000) n;
INSERT INTO gate (org_id, name, kind, code, reason, since, until, times)
SELECT 'org-' || n % 500, 'number:number-' || n, 'throttle', '80007', 'slow', n, n, 1 FROM generate_series(1, 3000) n;
INSERT INTO pair (sender, recipient, expires_at, free_at) SELECT 'number-' || n % 50, '+49' || n, n, n
FROM generate_series(1, 20000) n;
INSERT INTO dossier (org_id, phone, external_ref, status, created_at, updated_at)
SELECT 'org-' || n % 50, '+49' || n, 'ref-' || n, 'active', n, n FROM generate_series(1, 9000) n;
INSERT INTO consent SELECT 'org-' || n % 50, 'dossier:' || n, 'WHATSAPP', 'GRANTED', n FROM generate_series(1, 9000) n;
INSERT INTO audit (org_id, at, entity_type, entity_id, action, actor, details)
SELECT 'org-' || n % 50, n, 'dossier', n, 'created', 'key', '{}' FROM generate_series(1, 9000) n;
INSERT INTO template SELECT 'org-' || n % 50, 'waba-' || n % 50, 't-' || n, 'en', 'APPROVED', n, '{}'
FROM generate_series(1, 9000) n;
INSERT INTO org SELECT 'org-' || n, n FROM generate_series(0, 2999) n;
INSERT INTO quick_reply SELECT 'org-' || n % 100, 'r-' || n, 'R-' || n, 'Hello', n, 'user'
FROM generate_series(1, 9000) n;
INSERT INTO number (id, org_id, waba_id, sealed_token, sealed_app_secret, sealed_verify_token, error_catalogue, enabled,
    created_at, updated_at)
SELECT 'number-' || n, 'org-' || n, 'waba-' || n, 'x', 'x', 'x', 'meta', TRUE, n, n FROM generate_series(0, 2999) n;
INSERT INTO delivery (message_id, org_id, sender, outlet, priority, max_attempts, status, generation, fence,
    first_fence, tries, open_at_claim, parked, updated_at, owner, provider_id)
SELECT n, 'org-' || n % 50, 'number-' || n % 50, n % 3000 + 1, 5, 5,
    CASE WHEN n <= 200 THEN 'SENDING' WHEN n <= 9000 THEN 'QUEUED' ELSE 'DELIVERED' END, 1, 1, 0, 1, n, FALSE, n,
    CASE WHEN n <= 200 THEN 'worker-' || n % 4 END, 'wamid-' || n
FROM generate_series(1, 30000) n;
INSERT INTO ready (message_id, outlet, rank, ready_at) SELECT n, n % 3000 + 1, n, n FROM generate_series(201, 5000) n;
INSERT INTO later (message_id, outlet, rank, due_at) SELECT n, n % 3000 + 1, n, n FROM generate_series(5001, 9000) n;
INSERT INTO queue (org_id, sender, recipient, head, tail)
SELECT 'org-' || n % 50, 'number-' || n % 50, '+49' || n, n, 0 FROM generate_series(1, 3000) n;
INSERT INTO queue_line SELECT n % 3000 + 1, n, n, n, n FROM generate_series(1, 9000) n;
INSERT INTO attempt (message_id, fence, generation, attempt_no, status, created_at)
SELECT n, 1, 1, 1, 'SUCCESS', n FROM generate_series(1, 30000) n;
INSERT INTO wamid SELECT 'number-' || n % 50, 'wamid-' || n, n, 1 FROM generate_series(1, 30000) n;
INSERT INTO report (number, wamid, kind, participant, org_id, message_id, recipient, at, received_at, body)
SELECT 'number-' || n % 50, 'wamid-' || n, 'sent', '', 'org-' || n % 50, CASE WHEN n % 60 > 0 THEN n END,
    '+49' || n % 2000, n, n, '{}'
FROM generate_series(1, 30000) n;
INSERT INTO event (message_id, at, kind, detail) SELECT n, n, 'cancelled', '' FROM generate_series(1, 9000) n;
INSERT INTO journal (org_id, number, kind, key, state, received_at, body)
SELECT 'org-' || n % 50, 'number-' || n % 50, 'text', n, 'pending', n, '{}' FROM generate_series(1, 9000) n;
INSERT INTO provider_word (org_id, topic, at)
SELECT 'org-' || n % 3000, 'account:' || n, n FROM generate_series(1, 9000) n;
INSERT INTO cost (number, wamid, org_id, message_id, category, type, model, country, amount_micros, currency, at, day)
SELECT 'number-' || n % 50, 'wamid-' || n, 'org-' || n % 50, n, 'utility', 'regular', 'PMP', '49', 4000, 'EUR', n,
    n / 1000
FROM generate_series(1, 30000) n;
INSERT INTO media (org_id, number, conversation_id, position, provider_id, mime_type, state, tries, due_at, created_at)
SELECT 'org-' || n % 50, 'number-' || n % 50, n % 500, n, n, 'image/jpeg',
    CASE WHEN n % 100 = 0 THEN 'pending' ELSE 'stored' END, 1, CASE WHEN n % 100 = 0 THEN n END, n
FROM generate_series(1, 30000) n;
INSERT INTO contact (id, org_id, met_as, dossier_id, created_at, updated_at)
SELECT n, 'org-' || n % 50, 'phone:+49' || n, n, n, n FROM generate_series(1, 9000) n;
INSERT INTO contact_address SELECT 'org-' || n % 50, 'phone:+49' || n, n FROM generate_series(1, 9000) n;
INSERT INTO conversation (id, org_id, kind, number, contact_id, address, position, last_id_at, created_at)
SELECT n, 'org-' || n % 50, 'customer', 'number-' || n % 50, n, '+49' || n, 3, n, n FROM generate_series(1, 9000) n;
INSERT INTO entry SELECT n % 9000 + 1, n / 9000 + 1, n, n, 'contact', 'text', '{}', 'wamid-' || n, NULL
FROM generate_series(0, 29999) n;
INSERT INTO arrival SELECT 'number-' || n % 50, 'wamid-' || n, n % 9000 + 1, n / 9000 + 1, n
FROM generate_series(0, 29999) n;
INSERT INTO lane (conversation_id, org_id, tail, done, hi, fence, due_at, owner, lease_until, tries, floor)
SELECT n, 'org-' || n % 50, 3, CASE WHEN n > 400 THEN 3 ELSE 0 END, CASE WHEN n <= 200 THEN 3 END, 1,
    CASE WHEN n BETWEEN 201 AND 400 THEN n END, CASE WHEN n <= 200 THEN 'worker-' || n % 4 END,
    CASE WHEN n <= 200 THEN n END, 0, 'bot'
FROM generate_series(1, 9000) n;
INSERT INTO turn (conversation_id, hi, lo, org_id, state, replies, tries, fence, started_at, ended_at)
SELECT n, 3, 0, 'org-' || n % 50, CASE WHEN n % 90 = 0 THEN 'failed' ELSE 'answered' END, 1, 1, 1, n, n
FROM generate_series(1, 9000) n;
INSERT INTO feed SELECT 'team:org-' || n, 9000 FROM generate_series(0, 2999) n;
INSERT INTO feed_reader SELECT 'search', 'team:org-' || n, 9000 FROM generate_series(0, 2999) n;
INSERT INTO feed_reader SELECT 'log', 'team:org-' || n, 9000 FROM generate_series(0, 2999) n;
INSERT INTO handed_over SELECT 'team:org-' || n % 50, n - 1, n, n FROM generate_series(1, 9000) n;
INSERT INTO search_entry
SELECT n, n % 9000 + 1, n / 9000 + 1, array_to_tsvector(ARRAY['|oaa' || n % 50, 'w' || n % 700])
FROM generate_series(0, 29999) n;
INSERT INTO feed_item SELECT 'team:org-' || n % 50, n, n, 'message', n % 9000 + 1, 1, '{}'
FROM generate_series(1, 30000) n;
INSERT INTO member SELECT n / 3, 'user-' || n, 0, 0, n FROM generate_series(1, 9000) n;
INSERT INTO post SELECT 'user-' || n, 'id-' || n, n, 1, n, 'x' FROM generate_series(1, 9000) n;
INSERT INTO read_marker SELECT 'user-' || n, n, 1, n FROM generate_series(1, 9000) n;
INSERT INTO device SELECT 'user-' || n, 'phone', 'org-' || n % 50, 'e', n, n FROM generate_series(1, 9000) n;
INSERT INTO device_cursor SELECT 'user-' || n, 'phone', 'user:user-' || n, n FROM generate_series(1, 9000) n;
UPDATE device SET push = '{}' WHERE seen_at % 3 = 0;
INSERT INTO notice_feed SELECT 'team:org-' || n, 9000 - n % 5 FROM generate_series(0, 2999) n;
INSERT INTO notice_feed SELECT 'user:user-' || n, n FROM generate_series(1, 30000) n;
INSERT INTO notice (feed, conversation_id, position, seq, due_at, free_at, fence)
SELECT 'team:org-' || n % 50, n, 1, n, n, n, n FROM generate_series(1, 9000) n;
INSERT INTO notice_told SELECT 'user-' || n, 'phone', n, 1, n, n FROM generate_series(1, 9000) n;
UPDATE message SET conversation_id = id % 9000 + 1, created_by = 'bot' WHERE id % 3 = 0;
"""
