/** One row of a thread. Whatever people wrote is text: React makes text nodes of it, never markup. */

import { ActionIcon, Button } from "@mantine/core";
import { memo, type ReactNode } from "react";

import { Reply } from "../icons";
import { BOT } from "../live/filters";
import type { Row } from "../live/rows";
import { useDesk } from "../live/use-desk";
import type { Message } from "../model";
import { texts } from "../texts";
import { clockTime, dayAndTime, dayLabel } from "../time";
import { isFromCustomer, summaryOf, textOf } from "../words";
import styles from "./bubble.module.css";
import { setDraft } from "./drafts";
import { Failure } from "./failure";
import { Happening } from "./happening";
import { Body } from "./message-body";
import { Ticks } from "./ticks";
import type { Names } from "./use-names";

type Of<Kind extends Row["is"]> = Extract<Row, { is: Kind }>;

/** What a row needs to know of its thread. */
export interface Around {
  readonly me: string;
  /** Of the customer. */
  readonly name: string;
  readonly names: Names;
  /** The message that was jumped to. */
  readonly sought: number | null;
  readonly jump: (position: number) => void;
  /** None where nothing can be answered. */
  readonly answer: ((message: Message) => void) | null;
}

export const ThreadRow = memo(function ThreadRow({ row, around }: { readonly row: Row; readonly around: Around }) {
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
    case "happening":
      return <Happening deed={row.deed} at={row.at} me={around.me} names={around.names} />;
    case "message":
      return <Said row={row} around={around} />;
    case "outgoing":
      return <OnItsWay row={row} around={around} />;
  }
});

function Said({ row: { message, late, first, last, reactions, quoted }, around }: { readonly row: Of<"message">; readonly around: Around }) {
  const { me, name, names, sought, answer } = around;
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
      <Quoted of={quoted} who={who} jump={around.jump} />
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

function OnItsWay({ row: { message, refused, quoted }, around }: { readonly row: Of<"outgoing">; readonly around: Around }) {
  const desk = useDesk();
  const id = message.client_message_id;
  const edit = () => {
    setDraft(desk.me.user_id, message.conversation_id, textOf(message.content));
    desk.discard(id);
  };
  const who = (sender: string): string => (isFromCustomer(sender) ? around.name : around.names(sender));
  return (
    <Bubble kind="ours" first last pending={refused === null}>
      <Quoted of={quoted} who={who} jump={around.jump} />
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
            <Button size="compact-xs" variant="subtle" color="gray" onClick={() => desk.discard(id)}>
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
