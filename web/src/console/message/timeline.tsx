/** The timeline of a message, oldest first, with the time between events. */

import { exactly, lasting, Panel } from "../kit";
import styles from "./message.module.css";
import { gapsOf, type TimelineEvent } from "./model";
import { words } from "./texts";

const MOODS: Readonly<Record<string, string>> = { accepted: "good", refused: "bad", unsure: "busy", parked: "busy", expired: "bad", deferred: "busy" };

export function TimelinePanel({ events }: { readonly events: readonly TimelineEvent[] }) {
  const gaps = gapsOf(events);
  return (
    <Panel title={words.timeline} intro={words.timelineIntro}>
      <ol className={styles["timeline"]}>
        {events.map((event, index) => (
          <li key={`${event.at}-${event.kind}-${index}`} data-mood={moodOf(event)}>
            <div className={styles["when"]}>
              <time dateTime={event.at} title={exactly(event.at)}>
                {clock(event.at)}
              </time>
              {gaps[index] != null && <span>{words.gap(lasting(gaps[index]))}</span>}
            </div>
            <div className={styles["event"]}>
              <strong>{words.kind[event.kind] ?? event.kind}</strong>
              {event.detail !== "" && <span>{event.detail}</span>}
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function moodOf({ kind, detail }: TimelineEvent): string {
  if (kind !== "status") return MOODS[kind] ?? "calm";
  return detail.startsWith("failed") ? "bad" : "good";
}

const clock = (at: string): string =>
  new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });
