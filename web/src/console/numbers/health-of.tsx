/** How a sender is doing, and what to do about it. */

import { Marked, Status } from "../kit";
import type { Health } from "./health";
import styles from "./numbers.module.css";

export function HealthOf({ health: { mood, said, remedy } }: { readonly health: Health }) {
  return (
    <div className={styles["health"]}>
      <Status mood={mood}>{said}</Status>
      {remedy !== null && (
        <span>
          <Marked text={remedy} />
        </span>
      )}
    </div>
  );
}
