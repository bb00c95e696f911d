/** The verdict of the loss detector. */

import { Moment, Panel, Status } from "../kit";
import { broken, type Verdict } from "./figures";
import styles from "./overview.module.css";
import { texts } from "./texts";

const { invariants: said } = texts;
/** It looks every minute. */
const STALE_MS = 5 * 60_000;

export function Invariants({ invariants, at }: { readonly invariants: Verdict; readonly at: string }) {
  const { checked, looked_at } = invariants;
  const bad = broken(invariants);
  return (
    <Panel title={said.title} intro={said.intro}>
      <div className={styles["verdict"]}>
        {bad > 0 ? (
          <Status mood="bad">{said.broken(bad)}</Status>
        ) : looked_at === null ? (
          <Status mood="calm">{said.neverLooked}</Status>
        ) : (
          <Status mood="good">{said.holds(checked.length)}</Status>
        )}
        {looked_at !== null && (
          <span className={styles["soft"]}>
            {said.looked} <Moment at={looked_at} />
          </span>
        )}
        {isStale(looked_at, at) && <Status mood="busy">{said.stale}</Status>}
      </div>
      <details className={styles["details"]} open={bad > 0}>
        <summary>{said.all}</summary>
        <ul>
          {checked.map(({ name, violations }) => (
            <li key={name}>
              {said.names[name] ?? name}
              {violations > 0 && <Status mood="bad">{said.found(violations)}</Status>}
            </li>
          ))}
        </ul>
        <p className={styles["soft"]}>{said.since}</p>
      </details>
    </Panel>
  );
}

const isStale = (looked_at: string | null, at: string): boolean =>
  looked_at !== null && new Date(at).getTime() - new Date(looked_at).getTime() > STALE_MS;
