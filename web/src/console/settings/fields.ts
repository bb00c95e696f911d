/** The org's policy as a list: custom values, otherwise the defaults. Pure. */

import type { components } from "../../api/schema";
import { texts } from "./texts";

type PolicyView = components["schemas"]["PolicyView"];

export interface Field {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** The initial value if none is set. */
  readonly example: string;
  /** Null if there is no value. */
  readonly inForce: unknown;
  /** Whether the org has set it. */
  readonly own: boolean;
}

export function fieldsOf({ policy, defaults }: PolicyView): Field[] {
  const set = policy as Readonly<Record<string, unknown>>;
  const usual = defaults as Readonly<Record<string, unknown>>;
  return Object.entries(texts.policy.fields).map(([name, [title, about, example]]) => {
    const chosen = set[name] ?? null;
    return { name, title, about, example, own: chosen !== null, inForce: chosen ?? usual[name] ?? null };
  });
}

/** The parsed value; undefined for invalid JSON. */
export function read(written: string): unknown {
  try {
    return JSON.parse(written) as unknown;
  } catch {
    return undefined;
  }
}

/** A readable value, with one line for each part. */
export function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : value.map((each: unknown) => (isPlain(each) ? String(each) : JSON.stringify(each))).join(", ");
  if (isPlain(value)) return String(value);
  return Object.entries(value as object)
    .map(([name, each]: [string, unknown]) => `${name}: ${isPlain(each) ? String(each) : inWords(each)}`)
    .join("\n");
}

const isPlain = (value: unknown): boolean => value === null || typeof value !== "object";
