/** The title and remedy of an error code. */

import type { components } from "../../api/schema";
import { errors } from "./texts";

export type ErrorCode = components["schemas"]["ErrorCodeView"];

export interface Advice {
  readonly title: string;
  readonly remedy: string;
}

/** An exact code wins over a range such as `200-299`. */
export function rowOf(code: string, catalogue: readonly ErrorCode[]): ErrorCode | null {
  const exact = catalogue.find((row) => row.code === code);
  if (exact !== undefined || !/^\d+$/.test(code)) return exact ?? null;
  return catalogue.find((row) => isWithin(Number(code), row.code)) ?? null;
}

function isWithin(code: number, range: string): boolean {
  const [first, last] = range.split("-").map(Number);
  return first !== undefined && last !== undefined && first <= code && code <= last;
}

/** A queued message must not be sent again. */
export function adviceOn(code: string, catalogue: readonly ErrorCode[], isQueued = false): Advice {
  const row = rowOf(code, catalogue);
  const action = row?.action ?? "unknown";
  const { queued } = errors;
  const byCode = (isQueued ? queued.remedy[code] : undefined) ?? errors.remedy[code];
  const byAction = (isQueued ? queued.action[action] : undefined) ?? errors.action[action] ?? "";
  return { title: errors.title[code] ?? row?.title ?? errors.unknownTitle, remedy: byCode ?? byAction };
}
