import { expect, test } from "vitest";

import { isRetrying } from "../src/inbox/retry-button";
import { aMessage } from "./examples";

test("a message that failed again can be retried again", () => {
  const failed = aMessage({ status: "failed" });
  const sent = { isPending: false, isSuccess: true, variables: failed };
  expect(isRetrying({ isPending: false, isSuccess: false, variables: undefined }, failed)).toBe(false);
  expect(isRetrying({ isPending: true, isSuccess: false, variables: failed }, failed)).toBe(true);
  expect(isRetrying(sent, failed)).toBe(true);
  expect(isRetrying(sent, { ...failed })).toBe(false);
});
