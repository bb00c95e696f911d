/** Where an answer is written; it is sent at once, or kept and sent when there is a connection again. */

import { ActionIcon, Button, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ClipboardEvent, type FormEvent, type KeyboardEvent } from "react";

import { Cross, Plane } from "../icons";
import { writeNote } from "../live/asking";
import { BOT } from "../live/filters";
import { useDesk } from "../live/use-desk";
import type { Conversation, Message } from "../model";
import { texts } from "../texts";
import { dayAndTime } from "../time";
import { isFromCustomer, nameOf, summaryOf } from "../words";
import { AttachmentList } from "./attachment-list";
import { contentsOf } from "./attachments";
import styles from "./composer.module.css";
import { ComposerTools } from "./composer-tools";
import { setDraft, useDraft } from "./drafts";
import { useQuickChoice } from "./quick-choice";
import { isInQuickMenu, optionId, QUICK_MENU, QuickMenu } from "./quick-menu";
import { filledIn } from "./quick-replies";
import type { Attachments } from "./use-attachments";
import { useConsents, wantsNothing } from "./use-consents";
import { useWindow, type Window } from "./use-window";

const TemplatePicker = lazy(() => import("./template-picker"));
const QuickEditor = lazy(() => import("./quick-editor"));

/** When so little of the window is left, it is said. */
const SOON_MS = 2 * 60 * 60_000;

interface Props {
  readonly conversation: Conversation;
  readonly files: Attachments;
  /** The message that is answered, if it is one in particular. */
  readonly answered: Message | null;
  readonly onAnswered: () => void;
}

export function Composer({ conversation, files, answered, onAnswered }: Props) {
  const { conversation_id: id, kind, floor } = conversation;
  const desk = useDesk();
  const me = desk.me.user_id;
  const window = useWindow(conversation);
  const [wantsNote, setWantsNote] = useState(false);
  const [dialog, setDialog] = useState<"template" | "quick" | null>(null);
  const refuses = wantsNothing(useConsents(conversation));
  const isClosed = window?.open === false;
  const isNote = wantsNote || isClosed;
  // Two drafts, so that what was begun for the team never becomes a message to the customer.
  const draft = isNote ? `note:${id}` : id;
  const text = useDraft(me, draft);
  const note = useMutation({ mutationFn: (words: string) => writeNote(desk.client, id, words), onSuccess: () => setDraft(me, `note:${id}`, "") });
  const write = (words: string) => setDraft(me, draft, words);
  const quick = useQuickChoice(isNote ? "" : text, write, (reply) => write(filledIn(reply.text, nameOf(conversation))));
  if (desk.me.role === "readonly") return <p className={styles["soon"]}>{texts.composer.readOnly}</p>;
  const isReady = files.list.every((file) => file.id !== null);
  const hasSomething = text.trim() !== "" || (!isNote && files.list.length > 0);
  const send = () => {
    const words = text.trim();
    if (!hasSomething || note.isPending) return;
    if (isNote) return note.mutate(words);
    if (!isReady) return;
    const context = answered?.provider_message_id ? { message_id: answered.provider_message_id } : undefined;
    for (const content of contentsOf(files.list, words, context)) desk.send(id, content);
    files.clear();
    onAnswered();
    setDraft(me, draft, "");
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const press = (event: KeyboardEvent) => {
    if (quick.press(event) || event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  const paste = (event: ClipboardEvent) => {
    if (isNote || kind !== "customer" || event.clipboardData.files.length === 0) return;
    event.preventDefault();
    files.add(event.clipboardData.files);
  };
  const insert = (words: string) => write(insertedAt(text, words));
  const said = note.isError ? texts.composer.noteFailed : refuses && !isNote ? texts.composer.refuses : window && saidOf(window);
  return (
    <>
      <form className={styles["composer"]} onSubmit={submit} data-note={isNote || undefined}>
        {said && <p className={styles["soon"]}>{said}</p>}
        {answered !== null && !isNote && <Answered message={answered} name={nameOf(conversation)} onLeave={onAnswered} />}
        {!isNote && <AttachmentList files={files} />}
        {quick.offer !== null && <QuickMenu offer={quick.offer} chosen={quick.chosen} onChoose={quick.choose} onEdit={() => setDialog("quick")} />}
        <div className={styles["line"]}>
          <Textarea
            className={styles["words"]}
            id="composer"
            aria-label={texts.composer.label}
            aria-controls={quick.option === undefined ? undefined : QUICK_MENU}
            aria-activedescendant={quick.option === undefined ? undefined : optionId(quick.chosen)}
            title={texts.composer.hint}
            placeholder={isNote ? texts.composer.notePlaceholder : floor === BOT && desk.me.bot ? texts.composer.placeholderBot : texts.composer.placeholder}
            value={text}
            onChange={(event) => {
              write(event.currentTarget.value);
              quick.typed(event.currentTarget.value);
              if (!isNote) desk.client.typing(id);
            }}
            onKeyDown={press}
            onBlur={({ relatedTarget }) => dialog === null && !isInQuickMenu(relatedTarget) && quick.leave()}
            onPaste={paste}
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
            title={!isNote && !isReady ? texts.attachments.wait : undefined}
            disabled={!hasSomething || (!isNote && !isReady)}
          >
            <Plane />
          </ActionIcon>
        </div>
        <ComposerTools
          withCustomer={kind === "customer"}
          isNote={isNote}
          isClosed={isClosed}
          onNote={() => setWantsNote(!wantsNote)}
          onEmoji={insert}
          onFiles={files.add}
          onQuick={() => {
            quick.askForAll();
            document.getElementById("composer")?.focus();
          }}
          onTemplate={() => setDialog("template")}
        />
      </form>
      <Suspense>
        {dialog === "template" && <TemplatePicker conversation={id} from={conversation.phone_number_id} onClose={() => setDialog(null)} />}
        {dialog === "quick" && <QuickEditor onClose={() => setDialog(null)} />}
      </Suspense>
    </>
  );
}

function Answered({ message, name, onLeave }: { readonly message: Message; readonly name: string; readonly onLeave: () => void }) {
  return (
    <div className={styles["answered"]}>
      <span className={styles["answeredText"]}>
        <strong>
          <bdi>{texts.composer.replyingTo(isFromCustomer(message.sender_id) ? name : texts.thread.you)}</bdi>
        </strong>
        <bdi>{summaryOf(message.content)}</bdi>
      </span>
      <Button size="compact-xs" variant="subtle" color="gray" aria-label={texts.composer.noReply} onClick={onLeave}>
        <Cross size={16} />
      </Button>
    </div>
  );
}

/** Where the writing is, else at the end. */
function insertedAt(text: string, words: string): string {
  const box = document.getElementById("composer");
  const [begin, end] = box instanceof HTMLTextAreaElement && box.value === text ? [box.selectionStart, box.selectionEnd] : [text.length, text.length];
  return text.slice(0, begin) + words + text.slice(end);
}

/** What is to be known before one writes. */
function saidOf({ open, until }: Window): string | null {
  if (until === null) return open ? null : texts.composer.neverOpen;
  const moment = dayAndTime(until, new Date());
  if (!open) return texts.composer.closedSince(moment);
  return Date.parse(until) - Date.now() < SOON_MS ? texts.composer.closesSoon(moment) : null;
}
