/** Signing in and out: the session is an HTTP-only cookie. */

import type { Me } from "./model";

export class SignInFailed extends Error {
  /** Zero: no response. */
  readonly status: number;

  constructor(status: number) {
    super(`HTTP ${status}`);
    this.status = status;
  }
}

const SESSION = "/api/v1/session";
const CODE = /^#sign-in=([\w-]+)$/;

/** Null if not signed in. */
export async function whoAmI(): Promise<Me | null> {
  const response = await ask("GET");
  if (response.status === 401) return null;
  return parseSession(response);
}

export const signIn = async (by: { token: string } | { code: string }): Promise<Me> => parseSession(await ask("POST", by));

export async function signOut(): Promise<void> {
  await ask("DELETE");
}

const leaving = new Set<() => void>();

/** Registers a callback that stops work of the current session. */
export const whenLeaving = (stop: () => void): unknown => leaving.add(stop);

/** Signs out and reloads the page, also if the browser restores it later, so that no data remains. */
export async function leave(notifyServer: boolean): Promise<void> {
  for (const stop of leaving) stop();
  if (notifyServer) await signOut().catch(() => undefined);
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
  location.replace("/");
}

/** The sign-in code of the URL, if any; it is removed from the URL immediately. */
export function codeInAddress(): string | null {
  const code = CODE.exec(location.hash)?.[1] ?? null;
  if (code !== null) history.replaceState(null, "", location.pathname);
  return code;
}

/** Opening a sign-in link in an existing tab only changes the URL hash. */
export function watchAddress(): void {
  addEventListener("hashchange", () => {
    if (CODE.test(location.hash)) location.reload();
  });
}

async function ask(method: string, body?: object): Promise<Response> {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  try {
    return await fetch(SESSION, { method, headers, cache: "no-store", ...(body && { body: JSON.stringify(body) }) });
  } catch {
    throw new SignInFailed(0);
  }
}

async function parseSession(response: Response): Promise<Me> {
  if (!response.ok) throw new SignInFailed(response.status);
  return (await response.json()) as Me;
}
