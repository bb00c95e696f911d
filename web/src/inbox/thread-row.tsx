/** One row of a thread. Whatever people wrote is text: React makes text nodes of it, never markup. */

import { Button } from "@mantine/core";
import { memo, type ReactNode } from "react";

import { ANYBODY, BOT } from "../live/filters";
import type { Row } from "../live/rows";
import type { ShownMessage } from "../live/changes";
import { useDesk } from "../live/use-desk";
import { texts } from "../texts";
import { clockTime, dayLabel } from "../time";
import { failureOf, isFromCustomer, labelOf, textOf } from "../words";
import { setDraft } from "./drafts";
import styles from "./inbox.module.css";
import { Ticks } from "./ticks";

type Of<Kind extends Row["is"]> = Extract<Row, { is: Kind }>;

export const ThreadRow = memo(function ThreadRow({ row, me }: { readonly row: Row; readonly me: string }) {
  switch (row.is) {
    case "day":
      return (
        <div className={styles["day"]}>
          <span>{dayLabel(row.at, new Date())}</span>
        </div>
      );
    case "happening":
      return <div className={styles["happening"]}>{happened(row.floor, me)}</div>;
    case "message":
      return <Said row={row} me={me} />;
    case "outgoing":
      return <OnItsWay row={row} />;
  }
});

function happened(floor: string, me: string): string {
  if (floor === BOT) return texts.floor.handedBack;
  if (floor === ANYBODY) return texts.floor.gaveUp;
  return floor === me ? texts.floor.youTookOver : texts.floor.tookOver(texts.thread.colleague);
}

function Said({ row: { message, first, last }, me }: { readonly row: Of<"message">; readonly me: string }) {
  const theirs = isFromCustomer(message.sender_id);
  const isNote = message.content["type"] === "note";
  const kind = isNote ? "note" : theirs ? "theirs" : message.sender_id === BOT ? "bot" : "ours";
  return (
    <Bubble kind={kind} first={first} last={last}>
      {first && !theirs && <span className={styles["speaker"]}>{isNote ? texts.thread.note : speaker(message.sender_id, me)}</span>}
      <Body message={message} />
      <span className={styles["meta"]}>
        <time dateTime={message.timestamp}>{clockTime(message.timestamp)}</time>
        {!theirs && !isNote && <Ticks status={message.status} />}
      </span>
      {message.status === "failed" && (
        <span className={styles["failure"]}>{failureOf(message.failure?.code ?? null, message.failure?.said ?? null)}</span>
      )}
    </Bubble>
  );
}

const speaker = (sender: string, me: string): string =>
  sender === BOT ? texts.thread.bot : sender === me ? texts.thread.you : texts.thread.colleague;

function Body({ message: { content } }: { readonly message: Pick<ShownMessage, "content"> }) {
  const label = labelOf(content);
  return (
    <span className={styles["body"]} dir="auto">
      {label !== null && <em className={styles["label"]}>{label}</em>}
      {textOf(content)}
    </span>
  );
}

function OnItsWay({ row: { message, refused } }: { readonly row: Of<"outgoing"> }) {
  const desk = useDesk();
  const id = message.client_message_id;
  const edit = () => {
    setDraft(message.conversation_id, textOf(message.content));
    desk.discard(id);
  };
  return (
    <Bubble kind="ours" first last pending>
      <Body message={{ content: message.content }} />
      <span className={styles["meta"]}>
        <Ticks status={refused === null ? "queued" : "failed"} />
      </span>
      {refused !== null && (
        <span className={styles["failure"]}>
          {texts.failure[refused] ?? `${texts.failure["refused"]} (${refused})`}
          <span className={styles["choices"]}>
            <Button size="compact-xs" variant="light" onClick={edit}>
              {texts.failure["edit"]}
            </Button>
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
  readonly children: ReactNode;
}

function Bubble({ kind, first, last, pending, children }: BubbleProps) {
  return (
    <div className={styles["line"]} data-kind={kind} data-first={first || undefined} data-last={last || undefined}>
      <div className={styles["bubble"]} data-pending={pending}>
        {children}
      </div>
    </div>
  );
}
