import { expect, test } from "vitest";

import { isOnItsWay } from "../src/inbox/again";
import { aMessage } from "./examples";

test("a message that failed once more can be sent once more, though nothing was seen between", () => {
  const failed = aMessage({ status: "failed" });
  const sent = { isPending: false, isSuccess: true, variables: failed };
  expect(isOnItsWay({ isPending: false, isSuccess: false, variables: undefined }, failed)).toBe(false);
  expect(isOnItsWay({ isPending: true, isSuccess: false, variables: failed }, failed)).toBe(true);
  expect(isOnItsWay(sent, failed)).toBe(true);
  expect(isOnItsWay(sent, { ...failed })).toBe(false);
});
