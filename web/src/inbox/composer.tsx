/** Where an answer is written; it is sent at once, or kept and sent when there is a connection again. */

import { ActionIcon, Button, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent, type KeyboardEvent } from "react";

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
  const { conversation_id: id, kind, floor } = conversation;
  const desk = useDesk();
  const window = useWindow(conversation);
  const [wantsNote, setWantsNote] = useState(false);
  const isClosed = window?.open === false;
  const isNote = wantsNote || isClosed;
  // Two drafts, so that what was begun for the team never becomes a message to the customer.
  const draft = isNote ? `note:${id}` : id;
  const text = useDraft(draft);
  const note = useMutation({ mutationFn: (words: string) => desk.note(id, words), onSuccess: () => setDraft(`note:${id}`, "") });
  if (desk.me.role === "readonly") return <p className={styles["soon"]}>{texts.composer.readOnly}</p>;
  const send = () => {
    const words = text.trim();
    if (words === "" || note.isPending) return;
    if (isNote) return note.mutate(words);
    desk.send(id, words);
    setDraft(draft, "");
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
  const said = note.isError ? texts.composer.noteFailed : window && saidOf(window);
  return (
    <form className={styles["composer"]} onSubmit={submit} data-note={isNote || undefined}>
      {said && <p className={styles["soon"]}>{said}</p>}
      {kind === "customer" && (
        <Button
          size="sm"
          radius="xl"
          variant={isNote ? "filled" : "default"}
          className={styles["noteButton"]}
          aria-pressed={isNote}
          title={texts.composer.noteHint}
          disabled={isClosed}
          onClick={() => setWantsNote(!wantsNote)}
        >
          {texts.composer.note}
        </Button>
      )}
      <Textarea
        className={styles["words"]}
        id="composer"
        aria-label={texts.composer.label}
        title={texts.composer.hint}
        placeholder={isNote ? texts.composer.notePlaceholder : floor === BOT ? texts.composer.placeholderBot : texts.composer.placeholder}
        value={text}
        onChange={(event) => {
          setDraft(draft, event.currentTarget.value);
          if (!isNote) desk.client.typing(id);
        }}
        onKeyDown={press}
        autosize
        minRows={1}
        maxRows={8}
        radius="lg"
      />
      <ActionIcon
        type="submit"
        size={42}
        radius="xl"
        loading={note.isPending}
        aria-label={isNote ? texts.composer.noteSave : texts.composer.send}
        disabled={text.trim() === ""}
      >
        <Plane />
      </ActionIcon>
    </form>
  );
}

/** What is to be known before one writes. */
function saidOf({ open, windowExpiresAt }: Window): string | null {
  if (windowExpiresAt === null) return open ? null : texts.composer.neverOpen;
  const moment = dayAndTime(windowExpiresAt, new Date());
  if (!open) return texts.composer.closedSince(moment);
  return Date.parse(windowExpiresAt) - Date.now() < SOON_MS ? texts.composer.closesSoon(moment) : null;
}
