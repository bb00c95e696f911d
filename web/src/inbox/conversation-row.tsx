import { Avatar } from "@mantine/core";
import { memo, type MouseEvent } from "react";

import { Check, Person, Robot } from "../icons";
import { ANYBODY, BOT } from "../live/filters";
import { useInboxStore } from "../live/use-inbox-store";
import type { Conversation } from "../model";
import { texts } from "../texts";
import { shortMoment } from "../time";
import { colourOf, initialsOf, isFromCustomer, nameOf, summaryOf } from "../display-text";
import styles from "./inbox.module.css";
import { goTo } from "./path";
import { Ticks } from "./ticks";

interface Props {
  readonly conversation: Conversation;
  readonly isOpen: boolean;
  readonly me: string;
}

export const ConversationRow = memo(function ConversationRow({ conversation, isOpen, me }: Props) {
  const { conversation_id: id, last_message: last, unread, floor } = conversation;
  const name = nameOf(conversation);
  const hasBot = useInboxStore().me.bot;
  const open = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return; // opens a new tab
    event.preventDefault();
    goTo(id);
  };
  return (
    <a href={`/inbox/${id}`} className={styles["row"]} onClick={open} aria-current={isOpen ? "page" : undefined} data-unread={unread > 0 || undefined}>
      <Avatar radius="xl" size={44} color={colourOf(id)} aria-hidden="true">
        {initialsOf(name)}
      </Avatar>
      <span className={styles["rowText"]}>
        <span className={styles["rowTop"]}>
          <bdi className={styles["rowName"]}>{name}</bdi>
          <time className={styles["rowTime"]} dateTime={conversation.active_at}>
            {shortMoment(conversation.active_at, new Date())}
          </time>
        </span>
        <span className={styles["rowBottom"]}>
          {last !== null && !isFromCustomer(last.sender_id) && last.content["type"] !== "note" && <Ticks status={last.status} />}
          <span className={styles["rowLast"]}>
            {last !== null && (
              <>
                {spokenBy(last.sender_id, me)}
                <bdi>{summaryOf(last.content)}</bdi>
              </>
            )}
          </span>
          {floor === BOT && hasBot && <Who icon={<Robot size={15} />} label={texts.floor.bot} />}
          {floor === ANYBODY && <Who icon={<Person size={15} />} label={texts.floor.anybody} urgent />}
          {conversation.state === "closed" && <Who icon={<Check size={15} />} label={texts.list.closed} />}
          {unread > 0 && (
            <span className={styles["unread"]} role="img" aria-label={texts.list.unread(unread)}>
              {unread > 99 ? texts.list.manyUnread : unread}
            </span>
          )}
        </span>
      </span>
    </a>
  );
});

function Who({ icon, label, urgent }: { readonly icon: React.ReactNode; readonly label: string; readonly urgent?: boolean }) {
  return (
    <span className={styles["who"]} role="img" aria-label={label} title={label} data-urgent={urgent}>
      {icon}
    </span>
  );
}

function spokenBy(sender: string, me: string): string {
  if (sender === me) return `${texts.list.you}: `;
  return sender === BOT ? `${texts.list.bot}: ` : "";
}
