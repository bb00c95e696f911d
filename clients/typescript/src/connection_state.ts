/** The connection states and their transitions. */

export type State = "connecting" | "catching_up" | "live" | "polling" | "waiting" | "stopped";

/** `answered`: the long poll succeeded where no socket opens. `lost`: the connection or the attempt failed. */
export type ConnectionEvent = "attempt" | "welcome" | "live" | "answered" | "lost" | "stop";

const NEXT: Readonly<Record<State, Partial<Readonly<Record<ConnectionEvent, State>>>>> = {
  connecting: { welcome: "catching_up", answered: "polling", lost: "waiting", stop: "stopped" },
  catching_up: { live: "live", lost: "waiting", stop: "stopped" },
  live: { lost: "waiting", stop: "stopped" },
  polling: { welcome: "catching_up", lost: "waiting", stop: "stopped" },
  waiting: { attempt: "connecting", stop: "stopped" },
  stopped: {},
};

/** The next state; an event that does not apply leaves the state unchanged. */
export function nextState(state: State, event: ConnectionEvent): State {
  return NEXT[state][event] ?? state;
}
