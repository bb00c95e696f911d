/** The health of a number or mailbox, with a remedy. */

import { Marked, Status } from "../kit";
import type { Health } from "./health";
import styles from "./numbers.module.css";

export function HealthCell({ health: { mood, text, remedy } }: { readonly health: Health }) {
  return (
    <div className={styles["health"]}>
      <Status mood={mood}>{text}</Status>
      {remedy !== null && (
        <span>
          <Marked text={remedy} />
        </span>
      )}
    </div>
  );
}
