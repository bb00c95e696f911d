/** Calls of the sandbox, which the demo serves next to the page. */

import type { Screen } from "./model";

const SANDBOX = "/_sandbox";
const WAIT_SEC = 20;

export class CallFailed extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`HTTP ${status}`);
    this.status = status;
  }
}

async function call<Answer>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Answer> {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const sent = { ...(body && { body: JSON.stringify(body) }), ...(signal && { signal }) };
  const response = await fetch(`${SANDBOX}/${path}`, { method, headers, cache: "no-store", ...sent });
  if (!response.ok) throw new CallFailed(response.status);
  return (await response.json()) as Answer;
}

/** The phone's screen: immediately, or when it has changed since `after`. */
export const readScreen = (phone: string, after: number, signal: AbortSignal): Promise<Screen> =>
  call("GET", `phones/${phone}/screen?after=${after}&wait=${WAIT_SEC}`, undefined, signal);

/** Resolves after the webhook was delivered to the server, or its delivery failed. */
export const sendMessage = (phone: string, message: object): Promise<unknown> => call("POST", `phones/${phone}/say`, message);

export const readAll = (phone: string): Promise<unknown> => call("POST", `phones/${phone}/read`);

export const addFault = (fault: object): Promise<unknown> => call("POST", "faults", fault);

export const removeFault = (id: string): Promise<unknown> => call("DELETE", `faults/${id}`);

export const calm = (): Promise<unknown> => call("DELETE", "faults");

/** A file encoded for a message. */
export async function encodeFile(file: Blob): Promise<{ mime_type: string; data: string }> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { mime_type: file.type, data: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")) };
}

export const fileAt = (mediaId: string): string => `${SANDBOX}/media/${encodeURIComponent(mediaId)}`;
