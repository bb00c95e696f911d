import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { RenderThrottle } from "../src/live/render-throttle";

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

/** The delay until rendering starts. */
async function renderDelay(throttle: RenderThrottle, takes: number): Promise<number> {
  const asked = performance.now();
  return await new Promise((resolve) => {
    throttle.schedule(()  => {
      const began = performance.now();
      vi.setSystemTime(Date.now() + takes);
      vi.advanceTimersByTime(takes);
      resolve(began - asked);
    });
    void vi.runAllTimersAsync();
  });
}

test("fast renders run on every frame", async () => {
  const throttle = new RenderThrottle();
  for (let times = 0; times < 5; times += 1) expect(await renderDelay(throttle, 2)).toBeLessThanOrEqual(2 * FRAME_MS);
});

test("slow renders are followed by a pause of twice their duration, up to a limit", async () => {
  const throttle = new RenderThrottle();
  await renderDelay(throttle, 30);
  expect(await renderDelay(throttle, 1_000)).toBeGreaterThanOrEqual(60);
  const wait = await renderDelay(throttle, 1);
  expect(wait).toBeGreaterThanOrEqual(150);
  expect(wait).toBeLessThanOrEqual(150 + 2 * FRAME_MS);
  expect(await renderDelay(throttle, 1)).toBeLessThanOrEqual(2 * FRAME_MS);
});
