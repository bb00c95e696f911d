/** The health of each component. */

import { Anchor } from "@mantine/core";

import { linkTo } from "../../path";
import { Panel, Status, type Mood } from "../kit";
import { closed, troubles, type Gate, type Part } from "./figures";
import styles from "./overview.module.css";
import { texts } from "./texts";

const { parts: labels } = texts;
const MOODS: Readonly<Record<Part["state"], Mood>> = { ok: "good", trouble: "bad", off: "calm" };

interface Props {
  readonly parts: readonly Part[];
  readonly gates: readonly Gate[];
}

export function HealthPanel({ parts, gates }: Props) {
  return (
    <Panel title={labels.title} actions={<Verdict parts={parts} gates={gates} />}>
      <ul className={styles["lines"]}>
        {parts.map(({ name, state, detail }) => (
          <li key={name}>
            <span>{labels.names[name] ?? name}</span>
            <Status mood={MOODS[state]}>{labels.states[state]}</Status>
            <span className={styles["soft"]}>{detail}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Everything is operational only if there are no holds either. */
function Verdict({ parts, gates }: Props) {
  const bad = troubles(parts);
  const { held, slowed } = closed(gates);
  if (bad === 0 && held + slowed === 0) return <Status mood="good">{labels.allWell}</Status>;
  return (
    <>
      {bad > 0 && <Status mood="bad">{labels.trouble(bad)}</Status>}
      {held + slowed > 0 && (
        <Anchor size="sm" {...linkTo("/console/limits")}>
          <Status mood={held > 0 ? "bad" : "busy"}>{held > 0 ? labels.held(held) : labels.slowed(slowed)}</Status>
        </Anchor>
      )}
    </>
  );
}
