-- Message costs, booked once per provider id when the provider reports delivery.
CREATE TABLE cost (
    number TEXT NOT NULL,
    wamid TEXT NOT NULL,
    org_id TEXT NOT NULL,
    message_id BIGINT,
    dossier_id BIGINT,
    template TEXT,
    category TEXT NOT NULL,
    type TEXT NOT NULL,
    model TEXT NOT NULL,
    country TEXT NOT NULL,
    amount_micros BIGINT, -- millionths of the currency; unknown where the org's price list did not say
    currency TEXT,
    at BIGINT NOT NULL,
    day INTEGER NOT NULL, -- since 1970, UTC
    PRIMARY KEY (number, wamid)
);
-- Daily and monthly sums are read from the index alone.
CREATE INDEX cost_by_day ON cost (org_id, day, currency, amount_micros);
CREATE INDEX gate_of_budget ON gate (code) WHERE code = 'BUDGET_REACHED';
CREATE INDEX delivery_quiet ON delivery (org_id) WHERE deferred_by = 'quiet';
