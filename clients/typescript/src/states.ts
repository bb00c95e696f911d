/** The states of the connection and what leads from one to the next. */

export type State = "connecting" | "catching_up" | "live" | "polling" | "waiting" | "stopped";

/** `answered`: the long poll was, where no socket can be opened. `lost`: the connection, or the try to make one. */
export type Happening = "attempt" | "welcome" | "live" | "answered" | "lost" | "stop";

const NEXT: Readonly<Record<State, Partial<Readonly<Record<Happening, State>>>>> = {
  connecting: { welcome: "catching_up", answered: "polling", lost: "waiting", stop: "stopped" },
  catching_up: { live: "live", lost: "waiting", stop: "stopped" },
  live: { lost: "waiting", stop: "stopped" },
  polling: { welcome: "catching_up", lost: "waiting", stop: "stopped" },
  waiting: { attempt: "connecting", stop: "stopped" },
  stopped: {},
};

/** The state after it; what does not fit changes nothing. */
export function next(state: State, happening: Happening): State {
  return NEXT[state][happening] ?? state;
}
