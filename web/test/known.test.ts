import { describe, expect, test } from "vitest";

import { byActivity } from "../src/live/changes";
import { Known } from "../src/live/known";
import type { Conversation } from "../src/model";
import { aConversation } from "./examples";

const row = (id: number, minute: number): Conversation =>
  aConversation({ conversation_id: String(id), active_at: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString() });
const ids = ({ latest }: Known): string[] => latest.map(({ conversation_id }) => conversation_id);

describe("the known conversations", () => {
  test("stand by their latest activity, whatever changes", () => {
    const minutes = [5, 3, 9, 3, 0, 7];
    let known = new Known(minutes.map((minute, id) => row(id, minute)));
    expect(ids(known)).toEqual(["2", "5", "0", "3", "1", "4"]);
    const changes: (readonly [number, number])[] = [[4, 8], [2, 1], [9, 4], [0, 5], [3, 99], [1, 99], [9, 99]];
    for (const [id, minute] of changes) {
      const next = known.next();
      next.set(row(id, minute));
      next.set(row((id + 3) % 6, minute + 1));
      known = next.done();
      expect(known.latest).toEqual(known.latest.toSorted(byActivity));
      expect(new Set(ids(known)).size).toBe(known.latest.length);
      expect(known.latest.every((each) => known.get(each.conversation_id) === each)).toBe(true);
    }
    expect(ids(known).toSorted()).toEqual(["0", "1", "2", "3", "4", "5", "9"]);
  });

  test("are shown as they were until the next frame is done", () => {
    const known = new Known([row(1, 1), row(2, 2)]);
    const next = known.next();
    next.set(row(1, 3));
    next.delete("2");
    expect([next.has("2"), next.get("1")?.active_at]).toEqual([false, row(1, 3).active_at]);
    expect([known.has("2"), known.get("1")?.active_at, ids(known)]).toEqual([true, row(1, 1).active_at, ["2", "1"]]);
    expect(ids(next.done())).toEqual(["1"]);
  });
});
