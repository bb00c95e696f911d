/** Due messages by what they wait for. */

import { Anchor } from "@mantine/core";

import { linkTo } from "../../path";
import { Moment, Panel } from "../kit";
import type { Waiting } from "./figures";
import styles from "./overview.module.css";
import { texts } from "./texts";

const { waiting: said } = texts;

export const WhatWaits = ({ waiting }: { readonly waiting: readonly Waiting[] }) => (
  <Panel
    title={said.title}
    actions={
      <Anchor size="sm" {...linkTo("/console/limits")}>
        {said.toLimits}
      </Anchor>
    }
  >
    {waiting.length === 0 ? (
      <p className={styles["soft"]}>{said.empty}</p>
    ) : (
      <ul className={styles["lines"]}>
        {waiting.map(({ reason, messages, oldest_at }) => (
          <li key={reason}>
            <span>{said.reasons[reason] ?? reason}</span>
            <strong>{said.messages(messages)}</strong>
            <span className={styles["soft"]}>
              {said.since} <Moment at={oldest_at} />
            </span>
          </li>
        ))}
      </ul>
    )}
  </Panel>
);
