/** The results of the invariant checks. */

import { Moment, Panel, Status } from "../kit";
import { broken, type Verdict } from "./figures";
import styles from "./overview.module.css";
import { texts } from "./texts";

const { invariants: labels } = texts;
/** Checks run every minute. */
const STALE_MS = 5 * 60_000;

export function Invariants({ invariants, at }: { readonly invariants: Verdict; readonly at: string }) {
  const { checked, looked_at } = invariants;
  const bad = broken(invariants);
  return (
    <Panel title={labels.title} intro={labels.intro}>
      <div className={styles["verdict"]}>
        {bad > 0 ? (
          <Status mood="bad">{labels.broken(bad)}</Status>
        ) : looked_at === null ? (
          <Status mood="calm">{labels.neverLooked}</Status>
        ) : (
          <Status mood="good">{labels.holds(checked.length)}</Status>
        )}
        {looked_at !== null && (
          <span className={styles["soft"]}>
            {labels.looked} <Moment at={looked_at} />
          </span>
        )}
        {isStale(looked_at, at) && <Status mood="busy">{labels.stale}</Status>}
      </div>
      <details className={styles["details"]} open={bad > 0}>
        <summary>{labels.all}</summary>
        <ul>
          {checked.map(({ name, violations }) => (
            <li key={name}>
              {labels.names[name] ?? name}
              {violations > 0 && <Status mood="bad">{labels.found(violations)}</Status>}
            </li>
          ))}
        </ul>
        <p className={styles["soft"]}>{labels.since}</p>
      </details>
    </Panel>
  );
}

const isStale = (looked_at: string | null, at: string): boolean =>
  looked_at !== null && new Date(at).getTime() - new Date(looked_at).getTime() > STALE_MS;
