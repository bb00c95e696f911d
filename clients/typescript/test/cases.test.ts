/** The pure sections of the shared table of cases, on the modules that decide. */

import assert from "node:assert/strict";

import { Feeds } from "../src/feeds.js";
import type { Cursors, ErrorFrame, Item, Sent } from "../src/protocol.js";
import { afterClose, pause } from "../src/returning.js";
import { nextMove, outcomeOfAnswer, outcomeOfFrame, type Move, type Outcome, type Situation } from "../src/sending.js";
import { DEFAULTS } from "../src/timings.js";
import { eachCase } from "./cases.js";

type Place = readonly [feed: string, seq: number];

interface BufferStep {
  readonly at: number;
  readonly item?: Place | Item;
  readonly heads?: Cursors;
  readonly live?: Cursors;
  readonly reset?: Cursors;
  readonly tick?: true;
  readonly applies?: readonly Place[];
  readonly fetch?: readonly string[];
}

interface BufferCase {
  readonly cursors: Cursors;
  readonly steps: readonly BufferStep[];
  readonly cursors_after: Cursors;
}

const asItem = (item: Place | Item): Item =>
  "feed" in item ? item : { feed: item[0], seq: item[1], prev: item[1] - 1, kind: "message" };

/** The feeds that a tick asks to fetch; every other step asks for none. */
function play(feeds: Feeds, step: BufferStep): readonly string[] {
  if (step.item !== undefined) feeds.item(asItem(step.item), step.at);
  else if (step.heads !== undefined) feeds.heads(step.heads, step.at);
  else if (step.live !== undefined) feeds.live(step.live, step.at);
  else if (step.reset !== undefined) feeds.reset(step.reset);
  else return feeds.tick(step.at);
  return [];
}

eachCase<BufferCase>("buffer", ({ cursors, steps, cursors_after }) => {
  let applied: Place[] = [];
  const feeds = new Feeds((item) => applied.push([item.feed, item.seq]), 500, cursors);
  for (const step of steps) {
    const fetched = play(feeds, step);
    assert.deepEqual(
      { applied, fetched },
      { applied: step.applies ?? [], fetched: step.fetch ?? [] },
      JSON.stringify(step),
    );
    applied = [];
  }
  assert.deepEqual(feeds.cursors(), cursors_after);
});

eachCase<{ failures: number; dice: number; wait: number }>("backoff", ({ failures, dice, wait }) => {
  assert.equal(pause(failures, dice, DEFAULTS), wait);
});

eachCase<{ code: number }>("closes", ({ code, ...rest }) => {
  assert.deepEqual(afterClose(code), without(rest, "behaviours"));
});

eachCase<{ when: Situation; then: Move }>("sending", ({ when, then }) => {
  assert.deepEqual(nextMove(when, 5_000), then);
});

interface AnswerCase {
  readonly frame?: ({ type: "ack" } & Sent) | ErrorFrame;
  readonly status?: number;
  readonly body?: unknown;
  readonly retry_after?: string;
  readonly then: Readonly<Record<string, unknown>>;
}

eachCase<AnswerCase>("answers", ({ frame, status, body, retry_after, then }) => {
  const outcome = frame === undefined ? outcomeOfAnswer(status ?? 0, body, retry_after ?? null) : outcomeOfFrame(frame);
  assert.deepEqual(asWritten(outcome), then);
});

function asWritten(outcome: Outcome): Record<string, unknown> {
  switch (outcome.is) {
    case "sent":
      return { sent: outcome.message_id, position: outcome.position };
    case "refused":
      return { refused: outcome.code, ...(outcome.detail === undefined ? {} : { detail: outcome.detail }) };
    case "later":
      return { later: outcome.ms };
    case "stop":
      return { stop: outcome.code };
  }
}

function without(fields: object, name: string): object {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
}
