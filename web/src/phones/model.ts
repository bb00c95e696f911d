/** The sandbox's types; its calls are not part of the OpenAPI document. */

export interface TemplateButton {
  readonly type: string;
  readonly text: string;
  readonly url?: string;
  readonly payload?: string;
}

export interface Line {
  readonly from: "business" | "customer";
  readonly wamid: string;
  readonly type: string;
  readonly text: string | null;
  /** As sent. */
  readonly message: Readonly<Record<string, unknown>>;
  readonly status: "accepted" | "sent" | "delivered" | "read" | "failed";
  readonly at: string;
  readonly buttons?: readonly TemplateButton[];
}

export interface Fault {
  readonly id: string;
  readonly [action: string]: unknown;
}

export interface Person {
  /** Digits only. */
  readonly phone: string;
  readonly name: string;
}

export interface PersonWithUnread extends Person {
  readonly unread: number;
}

/** The state of one phone and of the sandbox. */
export interface Screen {
  readonly phone: string;
  readonly messages: readonly Line[];
  readonly version: number;
  readonly typing: boolean;
  readonly business: { readonly name: string; readonly phone: string } | null;
  readonly phones: readonly PersonWithUnread[];
  readonly faults: readonly Fault[];
}

/** The value at a path; undefined if it does not exist. */
export function inside(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((found, key) => (typeof found === "object" && found !== null ? (found as Record<string, unknown>)[key] : undefined), value);
}

export const textIn = (value: unknown, ...path: readonly (string | number)[]): string => {
  const found = inside(value, ...path);
  return typeof found === "string" ? found : "";
};

export const listIn = (value: unknown, ...path: readonly (string | number)[]): readonly unknown[] => {
  const found = inside(value, ...path);
  return Array.isArray(found) ? (found as unknown[]) : [];
};
