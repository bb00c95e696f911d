/** A status as a colour and a label. */

import type { ReactNode } from "react";

import { words } from "../texts";
import styles from "./kit.module.css";

export type Mood = "good" | "busy" | "bad" | "calm";

interface Props {
  readonly mood: Mood;
  readonly title?: string | undefined;
  readonly children: ReactNode;
}

export const Status = ({ mood, title, children }: Props) => (
  <span className={styles["status"]} data-mood={mood} title={title}>
    {children}
  </span>
);

const MOODS: Readonly<Record<string, Mood>> = {
  QUEUED: "busy",
  SENDING: "busy",
  SENT: "good",
  DELIVERED: "good",
  READ: "good",
  FAILED: "bad",
  CANCELLED: "calm",
};

/** The status of an outbound message. */
export const MessageStatus = ({ status }: { readonly status: string }) => (
  <Status mood={MOODS[status] ?? "calm"} title={status}>
    {words.status[status] ?? status}
  </Status>
);
