/** The demo's introduction: four steps to try. */

import { CloseButton, VisuallyHidden } from "@mantine/core";
import { useEffect } from "react";

import { OneTick } from "../icons";
import { useInboxStore, useInboxState } from "../live/use-inbox-store";
import type { Conversation } from "../model";
import { words } from "../phones/texts";
import { closeSteps, STEPS, markDone, useProgress } from "./first-steps";
import styles from "./shell.module.css";

function answersSomebody(me: string, conversations: Iterable<Conversation>): boolean {
  for (const { floor } of conversations) if (floor === me) return true;
  return false;
}

export function StepsStrip() {
  const { done, closed } = useProgress();
  const { me } = useInboxStore();
  const tookOver = useInboxState(({ conversations }) => answersSomebody(me.user_id, conversations.values()));
  useEffect(() => {
    if (tookOver) markDone("takeOver");
  }, [tookOver]);
  if (closed) return null;
  return (
    <section className={styles["steps"]} aria-label={words.steps.label}>
      <ol className={styles["stepList"]}>
        {STEPS.filter((step) => step !== "bot" || me.bot).map((step, place) => (
          <li key={step} className={styles["step"]} data-done={done.includes(step) || undefined}>
            <span className={styles["stepMark"]} aria-hidden="true">
              {done.includes(step) ? <OneTick size={12} /> : place + 1}
            </span>
            {words.steps.all[step]}
            {done.includes(step) && <VisuallyHidden>{`(${words.steps.done})`}</VisuallyHidden>}
          </li>
        ))}
      </ol>
      <CloseButton size="sm" aria-label={words.steps.close} title={words.steps.close} onClick={closeSteps} />
    </section>
  );
}
