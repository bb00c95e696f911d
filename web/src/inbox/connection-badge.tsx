/** How the connection is, honestly: what is shown is current, or it is not and how many messages wait. */

import type { State } from "@waypost/client";

import { useShown } from "../live/use-desk";
import { texts } from "../texts";
import styles from "./inbox.module.css";

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
  const state = useShown((shown) => shown.state);
  const queued = useShown((shown) => shown.queued);
  const offline = useShown((shown) => shown.offline);
  const [mood, said] = SAID[offline ? "waiting" : state];
  const told = queued > 0 && mood !== "good" ? `${said}: ${texts.connection.queued(queued)}` : said;
  return (
    <span className={styles["connection"]} data-mood={mood} role="status">
      {told}
    </span>
  );
}
