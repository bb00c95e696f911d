/** The delivery status as ticks. */

import { ClockFace, OneTick, TwoTicks, Warning } from "../icons";
import type { MessageStatus } from "../model";
import { texts } from "../texts";
import styles from "./inbox.module.css";

type Known = NonNullable<MessageStatus> | "waiting" | "queued";

const DRAWN: Readonly<Record<Known, typeof OneTick>> = {
  queued: ClockFace,
  waiting: ClockFace,
  sent: OneTick,
  delivered: TwoTicks,
  read: TwoTicks,
  failed: Warning,
};

export function Ticks({ status }: { readonly status: MessageStatus | "queued" }) {
  const known: Known = status ?? "waiting";
  const Tick = DRAWN[known];
  return (
    <span className={styles["ticks"]} data-status={known} role="img" aria-label={texts.ticks[known]} title={texts.ticks[known]}>
      <Tick size={16} />
    </span>
  );
}
