import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Pace } from "../src/live/pace";

const FRAME_MS = 16;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("requestAnimationFrame", (then: () => void) => setTimeout(then, FRAME_MS));
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** How long it takes until the showing begins. */
async function shown(pace: Pace, takes: number): Promise<number> {
  const asked = performance.now();
  return await new Promise((resolve) => {
    pace.next(() => {
      const began = performance.now();
      vi.setSystemTime(Date.now() + takes);
      vi.advanceTimersByTime(takes);
      resolve(began - asked);
    });
    void vi.runAllTimersAsync();
  });
}

test("what is shown quickly is shown with every frame", async () => {
  const pace = new Pace();
  for (let times = 0; times < 5; times += 1) expect(await shown(pace, 2)).toBeLessThanOrEqual(2 * FRAME_MS);
});

test("what takes long leaves twice as much time for the person, and never waits for long", async () => {
  const pace = new Pace();
  await shown(pace, 30);
  expect(await shown(pace, 1_000)).toBeGreaterThanOrEqual(60);
  const wait = await shown(pace, 1);
  expect(wait).toBeGreaterThanOrEqual(150);
  expect(wait).toBeLessThanOrEqual(150 + 2 * FRAME_MS);
  expect(await shown(pace, 1)).toBeLessThanOrEqual(2 * FRAME_MS);
});
