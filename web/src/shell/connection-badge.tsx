/** The connection state, with the number of queued messages while offline. */

import type { State } from "@waypost/client";

import { useInboxState } from "../live/use-inbox-store";
import { texts } from "../texts";
import styles from "./shell.module.css";

type Mood = "good" | "busy" | "bad";

const LABELS: Readonly<Record<State, readonly [Mood, string]>> = {
  live: ["good", texts.connection.live],
  polling: ["good", texts.connection.polling],
  connecting: ["busy", texts.connection.connecting],
  catching_up: ["busy", texts.connection.catchingUp],
  waiting: ["bad", texts.connection.offline],
  stopped: ["bad", texts.connection.offline],
};

export function ConnectionBadge() {
  const { mood, label } = useMood();
  return (
    <span className={styles["connection"]} data-mood={mood} role="status">
      {label}
    </span>
  );
}

/** On phones, threads have no top bar: shown there if the connection has a problem. */
export function ConnectionStrip() {
  const { mood, label } = useMood();
  if (mood === "good") return null;
  return (
    <div className={styles["strip"]} data-mood={mood}>
      {label}
    </div>
  );
}

function useMood(): { readonly mood: Mood; readonly label: string } {
  const state = useInboxState((state) => state.connection);
  const queued = useInboxState((state) => state.queued);
  const offline = useInboxState((state) => state.offline);
  const [mood, text] = LABELS[offline ? "waiting" : state];
  return { mood, label: queued > 0 && mood !== "good" ? `${text}: ${texts.connection.queued(queued)}` : text };
}
