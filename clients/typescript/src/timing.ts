/** Every timeout and interval of the client in milliseconds; named as in docs/reference/client-behaviour.md. */

export interface Timings {
  /** How long an item is held for its predecessor before the gap is fetched. */
  readonly hold: number;
  readonly ack_timeout: number;
  readonly ack_every: number;
  readonly backoff_base: number;
  readonly backoff_cap: number;
  /** The longest delay after a server announced that it is shutting down. */
  readonly going_away: number;
  readonly open_timeout: number;
  readonly upgrade_base: number;
  readonly upgrade_cap: number;
  readonly poll_wait: number;
  /** Null: the value from `welcome`. */
  readonly heartbeat: number | null;
}

export const DEFAULTS: Timings = {
  hold: 500,
  ack_timeout: 5_000,
  ack_every: 200,
  backoff_base: 500,
  backoff_cap: 30_000,
  going_away: 5_000,
  open_timeout: 10_000,
  upgrade_base: 5_000,
  upgrade_cap: 300_000,
  poll_wait: 25_000,
  heartbeat: null,
};
