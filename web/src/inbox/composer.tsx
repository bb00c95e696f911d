/** Where an answer is written; it is sent at once, or kept and sent when there is a connection again. */

import { ActionIcon, Textarea } from "@mantine/core";
import type { FormEvent, KeyboardEvent } from "react";

import { Plane } from "../icons";
import { BOT } from "../live/filters";
import { useDesk } from "../live/use-desk";
import type { Conversation } from "../model";
import { texts } from "../texts";
import { dayAndTime } from "../time";
import { setDraft, useDraft } from "./drafts";
import styles from "./inbox.module.css";
import { useWindow, type Window } from "./use-window";

/** When so little of the window is left, it is said. */
const SOON_MS = 2 * 60 * 60_000;

export function Composer({ conversation }: { readonly conversation: Conversation }) {
  const { conversation_id: id, floor } = conversation;
  const desk = useDesk();
  const text = useDraft(id);
  const window = useWindow(conversation);
  if (desk.me.role === "readonly") return <p className={styles["instead"]}>{texts.composer.readOnly}</p>;
  if (window?.open === false) return <p className={styles["instead"]}>{closed(window)}</p>;
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
      {window?.windowExpiresAt && Date.parse(window.windowExpiresAt) - Date.now() < SOON_MS && (
        <p className={styles["soon"]}>{texts.composer.closesSoon(dayAndTime(window.windowExpiresAt, new Date()))}</p>
      )}
      <Textarea
        className={styles["words"]}
        id="composer"
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

function closed({ windowExpiresAt }: Window): string {
  return windowExpiresAt === null ? texts.composer.neverOpen : texts.composer.closedSince(dayAndTime(windowExpiresAt, new Date()));
}
