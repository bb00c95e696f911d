/** One row of the quick reply editor: saved on blur, with the server's error shown in place. */

import { ActionIcon, Button, Textarea, TextInput } from "@mantine/core";
import { useEffect, useId, useRef, useState, type FocusEvent } from "react";

import { Cross } from "../icons";
import type { QuickReply } from "../model";
import { texts } from "../texts";
import { useQuickReplyMutations } from "./quick-reply-requests";
import { faultOf, stepOf, type Fault, type Words } from "./quick-replies";
import styles from "./quick.module.css";

/** Resolves to whether all input is stored on the server. */
export type Save = () => Promise<boolean>;

interface Props {
  /** As stored on the server; null for a new one. */
  readonly reply: QuickReply | null;
  readonly onReady: (save: Save | null) => void;
  readonly onType: () => void;
  readonly onGone: () => void;
}

const EMPTY: Words = { name: "", text: "" };

export function QuickLine({ reply, onReady, onType, onGone }: Props) {
  const { words, fault, state, type, save, remove } = useLine(reply, onGone);
  const [isSure, setSure] = useState(true);
  const name = useRef<HTMLInputElement>(null);
  const why = useId();
  useEffect(() => {
    onReady(save);
    return () => onReady(null);
  });
  useEffect(() => {
    if (reply === null) name.current?.focus();
  }, [reply]);
  const typed = (changed: Partial<Words>) => {
    type({ ...words, ...changed });
    onType();
  };
  const leave = (event: FocusEvent) => {
    if (!event.currentTarget.contains(event.relatedTarget)) void save();
  };
  return (
    <div role="group" aria-label={texts.quick.line(words.name)} className={styles["line"]} onBlur={leave}>
      <TextInput
        ref={name}
        aria-label={texts.quick.name}
        placeholder={texts.quick.name}
        value={words.name}
        maxLength={60}
        error={fault?.field === "name"}
        aria-describedby={why}
        onChange={(event) => typed({ name: event.currentTarget.value })}
      />
      <Textarea
        className={styles["words"]}
        aria-label={texts.quick.text}
        placeholder={texts.quick.text}
        value={words.text}
        autosize
        minRows={1}
        maxRows={5}
        error={fault?.field === "text"}
        aria-describedby={why}
        onChange={(event) => typed({ text: event.currentTarget.value })}
      />
      <ActionIcon variant="subtle" color="gray" size={36} aria-label={texts.quick.remove(words.name)} onClick={() => (reply === null && words === EMPTY ? onGone() : setSure(false))}>
        <Cross size={16} />
      </ActionIcon>
      <p role="status" id={why} className={fault === null ? styles["state"] : styles["bad"]}>
        {fault === null ? texts.quick.states[state] : texts.quick.notSaved(fault.words)}
      </p>
      {!isSure && (
        <div className={styles["sure"]}>
          <span>{texts.quick.sure(words.name)}</span>
          <Button size="compact-sm" onClick={() => void remove()}>
            {texts.quick.removeIt}
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setSure(true)}>
            {texts.quick.keepIt}
          </Button>
        </div>
      )}
    </div>
  );
}

function useLine(reply: QuickReply | null, onGone: () => void) {
  const keeping = useQuickReplyMutations();
  const [words, setWords] = useState<Words>(reply ?? EMPTY);
  const [fault, setFault] = useState<Fault | null>(null);
  const [state, setState] = useState<"still" | "saving" | "saved">("still");
  /** Saves run one at a time, each with the latest input. */
  const now = useRef<{ words: Words; saved: Words | null; last: Promise<boolean>; isGone: boolean }>({ words, saved: reply, last: Promise.resolve(true), isGone: false });
  const type = (typed: Words) => {
    now.current.words = typed;
    setWords(typed);
    setFault(null);
    setState("still");
  };
  const refuse = (why: Fault): boolean => {
    setFault(why);
    setState("still");
    return false;
  };
  const saveNow = async (): Promise<boolean> => {
    const { words: typed, saved, isGone } = now.current;
    const step = stepOf(typed, saved);
    if (isGone || step.is === "nothing") return true;
    if (step.is === "fault") return refuse(step.fault);
    setState("saving");
    try {
      const stored = await keeping.put(step.words, step.replaces);
      now.current.saved = stored;
      if (now.current.words === typed) type(stored); // otherwise more was typed meanwhile
      setState("saved");
      return true;
    } catch (error) {
      return refuse(faultOf(error));
    }
  };
  const save: Save = () => (now.current.last = now.current.last.then(saveNow));
  const remove = async () => {
    await now.current.last;
    try {
      if (now.current.saved !== null) await keeping.remove(now.current.saved.name);
      now.current.isGone = true;
      onGone();
    } catch (error) {
      refuse(faultOf(error));
    }
  };
  return { words, fault, state, type, save, remove };
}
