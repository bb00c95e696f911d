-- Old records are pruned in batches: this index finds the oldest.
CREATE INDEX turn_by_age ON turn (ended_at) WHERE state <> 'failed';
CREATE INDEX feed_item_by_age ON feed_item (at);
