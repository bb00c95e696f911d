/** One row of a thread. User input is rendered as text nodes, never as markup. */

import { ActionIcon, Button } from "@mantine/core";
import { memo, type ReactNode } from "react";

import { Reply } from "../icons";
import { BOT } from "../live/filters";
import type { Row } from "../live/rows";
import { useInboxStore } from "../live/use-inbox-store";
import type { Message } from "../model";
import { texts } from "../texts";
import { clockTime, dayAndTime, dayLabel } from "../time";
import { isFromCustomer, summaryOf, textOf } from "../display-text";
import styles from "./bubble.module.css";
import { setDraft } from "./drafts";
import { Failure } from "./failure";
import { ThreadEvent } from "./thread-event";
import { Body } from "./message-body";
import { Ticks } from "./ticks";
import type { Names } from "./use-names";

type Of<Kind extends Row["is"]> = Extract<Row, { is: Kind }>;

/** The context that rows need from their thread. */
export interface RowContext {
  readonly me: string;
  /** The customer's name. */
  readonly name: string;
  readonly names: Names;
  /** The position that was jumped to. */
  readonly sought: number | null;
  readonly jump: (position: number) => void;
  /** Null where replying is not possible. */
  readonly answer: ((message: Message) => void) | null;
}

export const ThreadRow = memo(function ThreadRow({ row, context }: { readonly row: Row; readonly context: RowContext }) {
  switch (row.is) {
    case "day":
      return (
        <div className={styles["day"]}>
          <span>{dayLabel(row.at, new Date())}</span>
        </div>
      );
    case "unread":
      return (
        <div className={styles["newHere"]} role="separator">
          <span>{texts.thread.unread}</span>
        </div>
      );
    case "event":
      return <ThreadEvent action={row.action} at={row.at} me={context.me} names={context.names} />;
    case "message":
      return <MessageRow row={row} context={context} />;
    case "outgoing":
      return <OutgoingRow row={row} context={context} />;
  }
});

function MessageRow({ row: { message, late, first, last, reactions, quoted }, context }: { readonly row: Of<"message">; readonly context: RowContext }) {
  const { me, name, names, sought, answer } = context;
  const theirs = isFromCustomer(message.sender_id);
  const isNote = message.content["type"] === "note";
  const kind = isNote ? "note" : theirs ? "theirs" : message.sender_id === BOT ? "bot" : "ours";
  const who = (sender: string): string => (isFromCustomer(sender) ? name : names(sender));
  const speaker = isNote ? (message.sender_id === me ? texts.thread.note : `${names(message.sender_id)} · ${texts.thread.note}`) : names(message.sender_id);
  const canAnswer = answer !== null && theirs && message.provider_message_id != null && message.content["type"] !== "deleted";
  return (
    <Bubble kind={kind} first={first} last={last} sought={sought === message.position}>
      {first && !theirs && (
        <span className={styles["speaker"]}>
          <bdi>{speaker}</bdi>
        </span>
      )}
      <Quoted of={quoted} who={who} jump={context.jump} />
      <Body message={message} />
      <span className={styles["meta"]}>
        {canAnswer && (
          <ActionIcon className={styles["answer"]} variant="subtle" color="gray" size={20} aria-label={texts.thread.replyTo(summaryOf(message.content).slice(0, 60))} title={texts.thread.reply} onClick={() => answer(message)}>
            <Reply size={14} />
          </ActionIcon>
        )}
        <time dateTime={message.timestamp}>{late ? dayAndTime(message.timestamp, new Date()) : clockTime(message.timestamp)}</time>
        {!theirs && !isNote && <Ticks status={message.status} />}
      </span>
      {message.status === "failed" && <Failure message={message} />}
      {reactions.length > 0 && (
        <span className={styles["reactions"]}>
          {reactions.map(({ sender, emoji }) => (
            <span key={sender} role="img" aria-label={texts.thread.reacted(emoji, who(sender))} title={who(sender)}>
              {emoji}
            </span>
          ))}
        </span>
      )}
    </Bubble>
  );
}

interface QuotedProps {
  readonly of: Message | null | undefined;
  readonly who: (sender: string) => string;
  readonly jump: (position: number) => void;
}

function Quoted({ of, who, jump }: QuotedProps) {
  if (of === undefined) return null;
  if (of === null) return <span className={styles["quoted"]}>{texts.thread.quotedUnread}</span>;
  return (
    <button type="button" className={styles["quoted"]} title={texts.thread.quoted} onClick={() => jump(of.position)}>
      <strong>
        <bdi>{who(of.sender_id)}</bdi>
      </strong>
      <bdi>{summaryOf(of.content)}</bdi>
    </button>
  );
}

function OutgoingRow({ row: { message, refused, quoted }, context }: { readonly row: Of<"outgoing">; readonly context: RowContext }) {
  const store = useInboxStore();
  const id = message.client_message_id;
  const edit = () => {
    setDraft(store.me.user_id, message.conversation_id, textOf(message.content));
    store.discard(id);
  };
  const who = (sender: string): string => (isFromCustomer(sender) ? context.name : context.names(sender));
  return (
    <Bubble kind="ours" first last pending={refused === null}>
      <Quoted of={quoted} who={who} jump={context.jump} />
      <Body message={{ content: message.content }} />
      <span className={styles["meta"]}>
        <Ticks status={refused === null ? "queued" : "failed"} />
      </span>
      {refused !== null && (
        <span className={styles["failure"]}>
          {texts.failure[refused] ?? `${texts.failure["refused"]} (${refused})`}
          <span className={styles["choices"]}>
            {textOf(message.content) !== "" && (
              <Button size="compact-xs" variant="light" onClick={edit}>
                {texts.failure["edit"]}
              </Button>
            )}
            <Button size="compact-xs" variant="subtle" color="gray" onClick={() => store.discard(id)}>
              {texts.failure["discard"]}
            </Button>
          </span>
        </span>
      )}
    </Bubble>
  );
}

interface BubbleProps {
  readonly kind: "theirs" | "ours" | "bot" | "note";
  readonly first: boolean;
  readonly last: boolean;
  readonly pending?: boolean;
  readonly sought?: boolean;
  readonly children: ReactNode;
}

function Bubble({ kind, first, last, pending, sought, children }: BubbleProps) {
  return (
    <div className={styles["line"]} data-kind={kind} data-first={first || undefined} data-last={last || undefined} data-sought={sought || undefined}>
      <div className={styles["bubble"]} data-pending={pending || undefined}>
        {children}
      </div>
    </div>
  );
}
