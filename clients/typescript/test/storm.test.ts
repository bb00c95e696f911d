/** Many messages over a connection that drops, duplicates and breaks at random; the screen must equal the log. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { WebSocket } from "ws";

import { MemoryStorage, WaypostClient, type SocketConstructor } from "../src/index.js";
import { ROOM, TestServer, TOKEN } from "./server.js";

const FAST = {
  ...{ hold: 20, ack_timeout: 60, ack_every: 5, backoff_base: 5, backoff_cap: 20, going_away: 10, heartbeat: 20 },
  ...{ open_timeout: 300, upgrade_base: 20, upgrade_cap: 50, poll_wait: 200 },
};

/** A seeded random source. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function misbehave(server: TestServer, random: () => number): void {
  server.passes = () => {
    const fate = random();
    if (fate < 0.02) server.cut(fate < 0.01 ? 4001 : undefined);
    if (random() < 0.01) server.blockUpgrades = !server.blockUpgrades;
    return fate > 0.15;
  };
  server.instead = () => (random() < 0.2 ? { status: 503, body: {} } : null);
}

function behave(server: TestServer): void {
  server.passes = () => true;
  server.instead = () => null;
  server.blockUpgrades = false;
}

for (const seed of [1, 2, 3, 4]) {
  test(`storm ${seed}`, async (t) => {
    const server = await new TestServer().start();
    t.after(() => server.stop());
    const Socket = WebSocket as unknown as SocketConstructor;
    const options = { url: server.url, token: TOKEN, deviceId: "d", WebSocket: Socket, timings: FAST };
    const client = new WaypostClient({ ...options, storage: new MemoryStorage(), random: randomOf(seed) });
    t.after(() => client.close());
    const shown: unknown[] = [];
    let calm = false;
    const isAll = new Promise<void>((resolve) => {
      client.on("item", ({ message }) => {
        shown.push(message?.content?.["text"]);
        if (calm && shown.length >= server.texts.length) resolve();
      });
    });
    client.connect();
    await new Promise<void>((live) => client.on("state", ({ state }) => state === "live" && live()));
    misbehave(server, randomOf(seed + 100));
    const mine = Array.from({ length: 40 }, (_, index) => `mine ${index}`);
    await Promise.all(
      mine.map(async (text, index) => {
        await client.send(ROOM, text);
        server.otherPosts(`other ${index}`);
      }),
    );
    behave(server);
    calm = true;
    server.otherPosts("last");
    await isAll;
    assert.deepEqual(shown, server.texts);
    assert.deepEqual(
      server.texts.filter((text) => String(text).startsWith("mine")),
      mine,
    );
  });
}
