/** The assignee and labels of a conversation. */

import { ActionIcon, Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import type { components } from "../api/schema";
import { Cross } from "../icons";
import { change } from "../live/requests";
import { useInboxStore } from "../live/use-inbox-store";
import type { Conversation } from "../model";
import { texts } from "../texts";
import styles from "./contact.module.css";
import { useTeam } from "./use-names";

type Change = components["schemas"]["ChangeConversation"];

const LONGEST_LABEL = 64;

export function ContactWork({ conversation }: { readonly conversation: Conversation }) {
  const store = useInboxStore();
  const team = useTeam();
  const { conversation_id: id, assignee, labels } = conversation;
  const work = useMutation({ mutationFn: (changed: Change) => change(store.client, id, changed), onSuccess: (row) => store.take(row) });
  const me = store.me.user_id;
  const isReader = store.me.role === "readonly";
  const people = team.map(({ user_id: value, name }) => ({ value, label: value === me ? texts.contact.you(name) : name }));
  const isUnknown = assignee !== null && !team.some(({ user_id }) => user_id === assignee);
  const others = isUnknown ? [{ value: assignee, label: texts.thread.colleague }] : [];
  return (
    <section className={styles["section"]}>
      <div className={styles["line"]}>
        <NativeSelect
          className={styles["grow"]}
          size="sm"
          label={texts.contact.assignee}
          value={assignee ?? ""}
          disabled={isReader || work.isPending}
          data={[{ value: "", label: texts.contact.unassigned }, ...people, ...others]}
          onChange={(event) => work.mutate({ assignee: event.currentTarget.value || null })}
        />
        {!isReader && assignee !== me && (
          <Button size="sm" variant="light" disabled={work.isPending} onClick={() => work.mutate({ assignee: me })}>
            {texts.contact.toMe}
          </Button>
        )}
      </div>
      <Labels key={id} id={id} labels={labels} isReader={isReader} onChange={(changed) => work.mutate({ labels: [...changed] })} />
      {work.isError && (
        <p className={styles["bad"]} role="alert">
          {texts.contact.failed}
        </p>
      )}
    </section>
  );
}

/** Labels that were typed but not added, by conversation. */
const begun = new Map<string, string>();

interface LabelsProps {
  readonly id: string;
  readonly labels: readonly string[];
  readonly isReader: boolean;
  readonly onChange: (labels: readonly string[]) => void;
}

function Labels({ id, labels, isReader, onChange }: LabelsProps) {
  const [text, setText] = useState(begun.get(id) ?? "");
  const type = (typed: string) => {
    begun.set(id, typed);
    setText(typed);
  };
  const add = (event: FormEvent) => {
    event.preventDefault();
    const label = text.trim();
    if (label !== "" && !labels.includes(label)) onChange([...labels, label]);
    type("");
  };
  return (
    <div>
      <span className={styles["label"]} id="labels">
        {texts.contact.labels}
      </span>
      <ul className={styles["labels"]} aria-labelledby="labels">
        {labels.map((label) => (
          <li key={label} className={styles["tag"]}>
            <bdi>{label}</bdi>
            {!isReader && (
              <ActionIcon variant="transparent" color="gray" size={18} aria-label={texts.contact.removeLabel(label)} onClick={() => onChange(labels.filter((each) => each !== label))}>
                <Cross size={13} />
              </ActionIcon>
            )}
          </li>
        ))}
      </ul>
      {!isReader && (
        <form onSubmit={add}>
          <TextInput size="sm" aria-label={texts.contact.addLabel} placeholder={texts.contact.addLabel} maxLength={LONGEST_LABEL} value={text} onChange={(event) => type(event.currentTarget.value)} />
        </form>
      )}
    </div>
  );
}
