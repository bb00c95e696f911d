/** Connects a number in three steps: credentials, Meta configuration and checks. */

import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

import { Panel } from "../kit";
import { Checks } from "./checks";
import { EnterNumber, type NewNumber } from "./enter";
import styles from "./numbers.module.css";
import { words, wizard } from "./texts";
import type { Trial } from "./trial";
import { Webhook } from "./webhook";

export function ConnectWizard({ onTried, onClose }: { readonly onTried: (trial: Trial) => void; readonly onClose: () => void }) {
  const [step, setStep] = useState(0);
  const [number, setNumber] = useState<NewNumber | null>(null);
  const begin = useRef<HTMLOListElement>(null);
  useEffect(() => {
    begin.current?.scrollIntoView({ block: "center" });
  }, [step]);
  return (
    <Panel
      title={wizard.title}
      intro={wizard.step(step + 1, wizard.steps.length)}
      actions={
        <Button size="compact-sm" variant="default" onClick={onClose}>
          {number === null ? words.cancel : wizard.back}
        </Button>
      }
    >
      <ol ref={begin} className={styles["steps"]}>
        {wizard.steps.map((name, index) => (
          <li key={name} aria-current={index === step ? "step" : undefined} data-done={index < step || undefined}>
            <span aria-hidden="true">{index < step ? "✓" : index + 1}</span>
            {name}
          </li>
        ))}
      </ol>
      {number === null ? (
        <EnterNumber
          onConnected={(connected) => {
            setNumber(connected);
            setStep(1);
          }}
        />
      ) : step === 1 ? (
        <Webhook number={number} onNext={() => setStep(2)} />
      ) : (
        <Checks number={number} onTried={onTried} onDone={onClose} />
      )}
    </Panel>
  );
}
