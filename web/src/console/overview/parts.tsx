/** Every part of the machine, and how it is. */

import { Panel, Status, type Mood } from "../kit";
import { troubles, type Part } from "./figures";
import styles from "./overview.module.css";
import { texts } from "./texts";

const { parts: said } = texts;
const MOODS: Readonly<Record<Part["state"], Mood>> = { ok: "good", trouble: "bad", off: "calm" };

export function Parts({ parts }: { readonly parts: readonly Part[] }) {
  const bad = troubles(parts);
  return (
    <Panel title={said.title} actions={<Status mood={bad === 0 ? "good" : "bad"}>{bad === 0 ? said.allWell : said.trouble(bad)}</Status>}>
      <ul className={styles["lines"]}>
        {parts.map(({ name, state, detail }) => (
          <li key={name}>
            <span>{said.names[name] ?? name}</span>
            <Status mood={MOODS[state]}>{said.states[state]}</Status>
            <span className={styles["soft"]}>{detail}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
