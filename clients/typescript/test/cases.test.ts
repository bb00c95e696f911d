/** The pure sections of the shared case table, run against the decision modules. */

import assert from "node:assert/strict";

import { SequenceBuffer } from "../src/sequence.js";
import type { Cursors, ErrorFrame, Item, Sent } from "../src/types.js";
import { afterClose, reconnectDelay } from "../src/reconnect.js";
import { nextMove, resultFromFrame, resultFromResponse } from "../src/sending.js";
import type { Move, SendProgress, SendResult } from "../src/sending.js";
import { DEFAULTS } from "../src/timing.js";
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

/** The feeds that a tick wants to fetch; other steps return none. */
function play(feeds: SequenceBuffer, step: BufferStep): readonly string[] {
  if (step.item !== undefined) feeds.item(asItem(step.item), step.at);
  else if (step.heads !== undefined) feeds.heads(step.heads, step.at);
  else if (step.live !== undefined) feeds.live(step.live, step.at);
  else if (step.reset !== undefined) feeds.reset(step.reset);
  else return feeds.tick(step.at);
  return [];
}

eachCase<BufferCase>("buffer", ({ cursors, steps, cursors_after }) => {
  let applied: Place[] = [];
  const feeds = new SequenceBuffer((item) => applied.push([item.feed, item.seq]), 500, cursors);
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
  assert.equal(reconnectDelay(failures, dice, DEFAULTS), wait);
});

eachCase<{ code: number }>("closes", ({ code, ...rest }) => {
  assert.deepEqual(afterClose(code), without(rest, "behaviours"));
});

eachCase<{ when: SendProgress; then: Move }>("sending", ({ when, then }) => {
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
  const result =
    frame === undefined ? resultFromResponse(status ?? 0, body, retry_after ?? null) : resultFromFrame(frame);
  assert.deepEqual(asWritten(result), then);
});

function asWritten(result: SendResult): Record<string, unknown> {
  switch (result.is) {
    case "sent":
      return { sent: result.message_id, position: result.position };
    case "refused":
      return { refused: result.code, ...(result.detail === undefined ? {} : { detail: result.detail }) };
    case "later":
      return { later: result.ms };
    case "stop":
      return { stop: result.code };
  }
}

function without(fields: object, name: string): object {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
}
