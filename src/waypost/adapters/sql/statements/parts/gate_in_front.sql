-- The gate in front of dispatch group o and its number n: one that stays closed, else one that is closed now, else a
-- breaker that wants a probe. An org's throttle and breaker concern its WhatsApp provider, not its mailboxes.
LEFT JOIN mailbox mb ON mb.id = o.sender
LEFT JOIN gate g ON g.id = (
    SELECT x.id FROM gate x
    WHERE x.org_id = o.org_id AND x.name IN ('org:' || o.org_id, 'number:' || o.sender, 'account:' || n.waba_id,
        'template:' || n.waba_id || '/' || o.template)
        AND (mb.id IS NULL OR x.kind = 'hold' OR x.name = 'number:' || o.sender)
    ORDER BY (x.until IS NULL) DESC, (x.until > $now) DESC, (x.kind = 'breaker') DESC LIMIT 1
)
