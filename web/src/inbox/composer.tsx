/** Where an answer is written; it is sent at once, or kept and sent when there is a connection again. */

import { ActionIcon, Textarea } from "@mantine/core";
import type { FormEvent, KeyboardEvent } from "react";

import { Plane } from "../icons";
import { BOT } from "../live/filters";
import { useDesk } from "../live/use-desk";
import type { Conversation } from "../model";
import { texts } from "../texts";
import { setDraft, useDraft } from "./drafts";
import styles from "./inbox.module.css";

export function Composer({ conversation: { conversation_id: id, floor } }: { readonly conversation: Conversation }) {
  const desk = useDesk();
  const text = useDraft(id);
  if (desk.me.role === "readonly") return <p className={styles["composer"]}>{texts.composer.readOnly}</p>;
  const send = () => {
    if (text.trim() === "") return;
    desk.send(id, text.trim());
    setDraft(id, "");
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className={styles["composer"]} onSubmit={submit}>
      <Textarea
        className={styles["words"]}
        aria-label={texts.composer.label}
        title={texts.composer.hint}
        placeholder={floor === BOT ? texts.composer.placeholderBot : texts.composer.placeholder}
        value={text}
        onChange={(event) => {
          setDraft(id, event.currentTarget.value);
          desk.client.typing(id);
        }}
        onKeyDown={press}
        autosize
        minRows={1}
        maxRows={8}
        radius="lg"
      />
      <ActionIcon type="submit" size={42} radius="xl" aria-label={texts.composer.send} disabled={text.trim() === ""}>
        <Plane />
      </ActionIcon>
    </form>
  );
}
