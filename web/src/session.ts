/** Signing in and out: the server keeps a cookie in the browser that no script can read. */

import type { Me } from "./model";

export class SignInFailed extends Error {
  /** Zero: nobody answered. */
  readonly status: number;

  constructor(status: number) {
    super(`HTTP ${status}`);
    this.status = status;
  }
}

const SESSION = "/api/v1/session";
const CODE = /^#sign-in=([\w-]+)$/;

/** Null when nobody is signed in. */
export async function whoAmI(): Promise<Me | null> {
  const answer = await ask("GET");
  if (answer.status === 401) return null;
  return taken(answer);
}

export const signIn = async (by: { token: string } | { code: string }): Promise<Me> => taken(await ask("POST", by));

export async function signOut(): Promise<void> {
  await ask("DELETE");
}

const leaving = new Set<() => void>();

/** What must not go on for whoever signs in next. */
export const whenLeaving = (stop: () => void): unknown => leaving.add(stop);

/** Out of the door with everything this page knows: it is loaded anew, also when the browser brings it back later. */
export async function leave(told: boolean): Promise<void> {
  for (const stop of leaving) stop();
  if (told) await signOut().catch(() => undefined);
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
  location.replace("/");
}

/** The code of a link, if the page was opened by one; it leaves the address at once, so that nobody copies it. */
export function codeInAddress(): string | null {
  const code = CODE.exec(location.hash)?.[1] ?? null;
  if (code !== null) history.replaceState(null, "", location.pathname);
  return code;
}

/** A link that is opened in a tab that is here already only changes the address. */
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

async function taken(answer: Response): Promise<Me> {
  if (!answer.ok) throw new SignInFailed(answer.status);
  return (await answer.json()) as Me;
}
