/** The sandbox's own calls, which a demo answers beside its page. */

import type { Look } from "./model";

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
  const answer = await fetch(`${SANDBOX}/${path}`, { method, headers, cache: "no-store", ...sent });
  if (!answer.ok) throw new CallFailed(answer.status);
  return (await answer.json()) as Answer;
}

/** What the phone shows: at once, or when anything has changed since `after`. */
export const look = (phone: string, after: number, signal: AbortSignal): Promise<Look> =>
  call("GET", `phones/${phone}/screen?after=${after}&wait=${WAIT_SEC}`, undefined, signal);

/** Resolves when the business's server was told, or was tried to be. */
export const say = (phone: string, said: object): Promise<unknown> => call("POST", `phones/${phone}/say`, said);

export const readAll = (phone: string): Promise<unknown> => call("POST", `phones/${phone}/read`);

export const addFault = (fault: object): Promise<unknown> => call("POST", "faults", fault);

export const removeFault = (id: string): Promise<unknown> => call("DELETE", `faults/${id}`);

export const calm = (): Promise<unknown> => call("DELETE", "faults");

/** A file as a message carries it. */
export async function carried(file: Blob): Promise<{ mime_type: string; data: string }> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { mime_type: file.type, data: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")) };
}

export const fileAt = (mediaId: string): string => `${SANDBOX}/media/${encodeURIComponent(mediaId)}`;
