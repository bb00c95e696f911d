/** What the sandbox tells of its phones. Its calls are no part of the API's document, so that their types stand here. */

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
  /** As it was sent. */
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

export interface PersonWithPost extends Person {
  readonly unread: number;
}

/** Everything that is shown of one phone, and beside it. */
export interface Look {
  readonly phone: string;
  readonly messages: readonly Line[];
  readonly version: number;
  readonly typing: boolean;
  readonly business: { readonly name: string; readonly phone: string } | null;
  readonly phones: readonly PersonWithPost[];
  readonly faults: readonly Fault[];
}

/** What is found inside, step by step; undefined where the way ends. */
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
