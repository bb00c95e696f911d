/** How the connection is, honestly: what is shown is current, or it is not and how many messages wait. */

import type { State } from "@waypost/client";

import { useShown } from "../live/use-desk";
import { texts } from "../texts";
import styles from "./room.module.css";

type Mood = "good" | "busy" | "bad";

const SAID: Readonly<Record<State, readonly [Mood, string]>> = {
  live: ["good", texts.connection.live],
  polling: ["good", texts.connection.polling],
  connecting: ["busy", texts.connection.connecting],
  catching_up: ["busy", texts.connection.catchingUp],
  waiting: ["bad", texts.connection.offline],
  stopped: ["bad", texts.connection.offline],
};

export function ConnectionBadge() {
  const { mood, told } = useMood();
  return (
    <span className={styles["connection"]} data-mood={mood} role="status">
      {told}
    </span>
  );
}

/** On a phone a thread has no bar above it: said there when something is not well. */
export function ConnectionStrip() {
  const { mood, told } = useMood();
  if (mood === "good") return null;
  return (
    <div className={styles["strip"]} data-mood={mood}>
      {told}
    </div>
  );
}

function useMood(): { readonly mood: Mood; readonly told: string } {
  const state = useShown((shown) => shown.state);
  const queued = useShown((shown) => shown.queued);
  const offline = useShown((shown) => shown.offline);
  const [mood, said] = SAID[offline ? "waiting" : state];
  return { mood, told: queued > 0 && mood !== "good" ? `${said}: ${texts.connection.queued(queued)}` : said };
}
