import { describe, expect, test } from "vitest";

import { byActivity } from "../src/live/changes";
import { ConversationIndex } from "../src/live/conversation-index";
import type { Conversation } from "../src/model";
import { aConversation } from "./examples";

const row = (id: number, minute: number): Conversation =>
  aConversation({ conversation_id: String(id), active_at: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString() });
const ids = ({ latest }: ConversationIndex): string[] => latest.map(({ conversation_id }) => conversation_id);

describe("the conversation index", () => {
  test("stays sorted by latest activity after any change", () => {
    const minutes = [5, 3, 9, 3, 0, 7];
    let index = new ConversationIndex(minutes.map((minute, id) => row(id, minute)));
    expect(ids(index)).toEqual(["2", "5", "0", "3", "1", "4"]);
    const changes: (readonly [number, number])[] = [[4, 8], [2, 1], [9, 4], [0, 5], [3, 99], [1, 99], [9, 99]];
    for (const [id, minute] of changes) {
      const next = index.draft();
      next.set(row(id, minute));
      next.set(row((id + 3) % 6, minute + 1));
      index = next.commit();
      expect(index.latest).toEqual(index.latest.toSorted(byActivity));
      expect(new Set(ids(index)).size).toBe(index.latest.length);
      expect(index.latest.every((each) => index.get(each.conversation_id) === each)).toBe(true);
    }
    expect(ids(index).toSorted()).toEqual(["0", "1", "2", "3", "4", "5", "9"]);
  });

  test("is unchanged until a draft is committed", () => {
    const index = new ConversationIndex([row(1, 1), row(2, 2)]);
    const next = index.draft();
    next.set(row(1, 3));
    next.delete("2");
    expect([next.has("2"), next.get("1")?.active_at]).toEqual([false, row(1, 3).active_at]);
    expect([index.has("2"), index.get("1")?.active_at, ids(index)]).toEqual([true, row(1, 1).active_at, ["2", "1"]]);
    expect(ids(next.commit())).toEqual(["1"]);
  });
});
