/** How the first unsent message of a conversation goes out next: decisions, with the time as an argument. */

/** The connection of this moment; each socket has a number of its own. */
export type Way = { readonly by: "socket"; readonly socket: number } | { readonly by: "rest" } | { readonly by: "none" };

export interface Trying {
  readonly notBefore: number;
  /** When the present wait for an answer, or for a socket, is over. */
  readonly dueAt: number;
  readonly sentOn: number | null;
  readonly times: number;
  readonly failures: number;
}

export type Step =
  | { readonly do: "wait"; readonly until: number }
  | { readonly do: "socket"; readonly trying: Trying }
  | { readonly do: "rest"; readonly socketIsDead: boolean };

const TRIES_ON_A_SOCKET = 2;

export function begin(now: number, ackTimeout: number): Trying {
  return { notBefore: now, dueAt: now + ackTimeout, sentOn: null, times: 0, failures: 0 };
}

export function step(trying: Trying, way: Way, now: number, ackTimeout: number): Step {
  if (now < trying.notBefore) return { do: "wait", until: trying.notBefore };
  if (way.by === "rest") return { do: "rest", socketIsDead: false };
  const isNewSocket = way.by === "socket" && trying.sentOn !== way.socket;
  if (!isNewSocket && now < trying.dueAt) return { do: "wait", until: trying.dueAt };
  if (way.by === "none") return { do: "rest", socketIsDead: false };
  const times = isNewSocket ? 1 : trying.times + 1;
  if (times > TRIES_ON_A_SOCKET) return { do: "rest", socketIsDead: true };
  return { do: "socket", trying: { ...trying, sentOn: way.socket, times, dueAt: now + ackTimeout } };
}

/** The server may take it later: the same message again after the pause, by whatever is there then. */
export function later(trying: Trying, now: number, pauseMs: number): Trying {
  const again = now + pauseMs;
  return { notBefore: again, dueAt: again, sentOn: null, times: 0, failures: trying.failures + 1 };
}
