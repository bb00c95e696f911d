/** Due messages by the reason why they wait. */

import { Anchor } from "@mantine/core";

import { linkTo } from "../../path";
import { Moment, Panel } from "../kit";
import type { Waiting } from "./figures";
import styles from "./overview.module.css";
import { texts } from "./texts";

const { waiting: labels } = texts;

export const WaitingPanel = ({ waiting }: { readonly waiting: readonly Waiting[] }) => (
  <Panel
    title={labels.title}
    actions={
      <Anchor size="sm" {...linkTo("/console/limits")}>
        {labels.toLimits}
      </Anchor>
    }
  >
    {waiting.length === 0 ? (
      <p className={styles["soft"]}>{labels.empty}</p>
    ) : (
      <ul className={styles["lines"]}>
        {waiting.map(({ reason, messages, oldest_at }) => (
          <li key={reason}>
            <span>{labels.reasons[reason] ?? reason}</span>
            <strong>{labels.messages(messages)}</strong>
            <span className={styles["soft"]}>
              {labels.since} <Moment at={oldest_at} />
            </span>
          </li>
        ))}
      </ul>
    )}
  </Panel>
);
