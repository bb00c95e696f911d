-- What only tells how it was is forgotten after a while, in bites: the oldest is found by its age.
CREATE INDEX turn_by_age ON turn (ended_at) WHERE state <> 'failed';
CREATE INDEX feed_item_by_age ON feed_item (at);
