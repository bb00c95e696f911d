/** The message composer; while offline, messages are queued and sent later. */

import { ActionIcon, Button, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ClipboardEvent, type FormEvent, type KeyboardEvent } from "react";

import { Cross, Plane } from "../icons";
import { writeNote } from "../live/requests";
import { BOT } from "../live/filters";
import { useInboxStore } from "../live/use-inbox-store";
import type { Conversation, Message } from "../model";
import { texts } from "../texts";
import { dayAndTime } from "../time";
import { isFromCustomer, nameOf, summaryOf } from "../display-text";
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

/** The notice is shown when less than this is left of the window. */
const SOON_MS = 2 * 60 * 60_000;

interface Props {
  readonly conversation: Conversation;
  readonly files: Attachments;
  /** The message being replied to. */
  readonly replyTo: Message | null;
  readonly onReplied: () => void;
}

export function Composer({ conversation, files, replyTo, onReplied }: Props) {
  const { conversation_id: id, kind, floor } = conversation;
  const store = useInboxStore();
  const me = store.me.user_id;
  const window = useWindow(conversation);
  const [wantsNote, setWantsNote] = useState(false);
  const [dialog, setDialog] = useState<"template" | "quick" | null>(null);
  const refuses = wantsNothing(useConsents(conversation));
  const isClosed = window?.open === false;
  const isNote = wantsNote || isClosed;
  // Separate drafts, so that text written for the team is never sent to the customer.
  const draft = isNote ? `note:${id}` : id;
  const text = useDraft(me, draft);
  const note = useMutation({ mutationFn: (words: string) => writeNote(store.client, id, words), onSuccess: () => setDraft(me, `note:${id}`, "") });
  const write = (words: string) => setDraft(me, draft, words);
  const quick = useQuickChoice(isNote ? "" : text, write, (reply) => write(filledIn(reply.text, nameOf(conversation))));
  if (store.me.role === "readonly") return <p className={styles["soon"]}>{texts.composer.readOnly}</p>;
  const isReady = files.list.every((file) => file.id !== null);
  const hasSomething = text.trim() !== "" || (!isNote && files.list.length > 0);
  const send = () => {
    const words = text.trim();
    if (!hasSomething || note.isPending) return;
    if (isNote) return note.mutate(words);
    if (!isReady) return;
    const context = replyTo?.provider_message_id ? { message_id: replyTo.provider_message_id } : undefined;
    for (const content of contentsOf(files.list, words, context)) store.send(id, content);
    files.clear();
    onReplied();
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
  const notice = note.isError ? texts.composer.noteFailed : refuses && !isNote ? texts.composer.refuses : window && windowNotice(window);
  return (
    <>
      <form className={styles["composer"]} onSubmit={submit} data-note={isNote || undefined}>
        {notice && <p className={styles["soon"]}>{notice}</p>}
        {replyTo !== null && !isNote && <ReplyPreview message={replyTo} name={nameOf(conversation)} onLeave={onReplied} />}
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
            placeholder={isNote ? texts.composer.notePlaceholder : floor === BOT && store.me.bot ? texts.composer.placeholderBot : texts.composer.placeholder}
            value={text}
            onChange={(event) => {
              write(event.currentTarget.value);
              quick.typed(event.currentTarget.value);
              if (!isNote) store.client.typing(id);
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

function ReplyPreview({ message, name, onLeave }: { readonly message: Message; readonly name: string; readonly onLeave: () => void }) {
  return (
    <div className={styles["replyTo"]}>
      <span className={styles["replyToText"]}>
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

/** At the cursor, otherwise at the end. */
function insertedAt(text: string, words: string): string {
  const box = document.getElementById("composer");
  const [begin, end] = box instanceof HTMLTextAreaElement && box.value === text ? [box.selectionStart, box.selectionEnd] : [text.length, text.length];
  return text.slice(0, begin) + words + text.slice(end);
}

/** The notice above the composer, or null. */
function windowNotice({ open, until }: Window): string | null {
  if (until === null) return open ? null : texts.composer.neverOpen;
  const moment = dayAndTime(until, new Date());
  if (!open) return texts.composer.closedSince(moment);
  return Date.parse(until) - Date.now() < SOON_MS ? texts.composer.closesSoon(moment) : null;
}
