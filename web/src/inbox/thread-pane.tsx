/** One conversation: who it is with, who answers, what was said, and what is to be said. */

import { ActionIcon, Avatar, Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect } from "react";

import { Back, Person, Robot } from "../icons";
import { ANYBODY, BOT } from "../live/filters";
import { useDesk, useShown } from "../live/use-desk";
import type { Conversation } from "../model";
import { texts } from "../texts";
import { colourOf, initialsOf, nameOf } from "../words";
import { Composer } from "./composer";
import { ConnectionStrip } from "../room/connection-badge";
import styles from "./inbox.module.css";
import { Messages } from "./messages";
import { goTo } from "./path";

export function ThreadPane({ id }: { readonly id: string }) {
  const desk = useDesk();
  const conversation = useShown((shown) => shown.conversations.get(id));
  const isRead = useShown((shown) => shown.lists.all.asked);
  useEffect(() => {
    if (isRead) desk.open(id);
    return () => desk.open(null);
  }, [desk, id, isRead]);
  return (
    <section className={styles["thread"]}>
      <header className={styles["threadTop"]}>
        <ActionIcon className={styles["back"]} variant="subtle" color="gray" size="lg" aria-label={texts.thread.back} onClick={() => goTo(null)}>
          <Back />
        </ActionIcon>
        {conversation && <Head conversation={conversation} me={desk.me.user_id} />}
      </header>
      <ConnectionStrip />
      <Messages id={id} name={conversation ? nameOf(conversation) : ""} />
      {conversation && <Composer conversation={conversation} />}
    </section>
  );
}

function Head({ conversation, me }: { readonly conversation: Conversation; readonly me: string }) {
  const name = nameOf(conversation);
  const { floor, contact } = conversation;
  return (
    <>
      <Avatar radius="xl" size={36} color={colourOf(conversation.conversation_id)} className={styles["headAvatar"]} aria-hidden="true">
        {initialsOf(name)}
      </Avatar>
      <div className={styles["headText"]}>
        <h2 className={styles["headName"]}>
          <bdi>{name}</bdi>
        </h2>
        <p className={styles["headMore"]}>
          {floor !== null && (
            <span className={styles["floor"]} data-urgent={floor === ANYBODY || undefined}>
              {floor === BOT ? <Robot size={14} /> : <Person size={14} />} {floorOf(floor, me)}
            </span>
          )}
          {contact?.phone && contact.phone !== name && <span className={styles["phone"]}>{contact.phone}</span>}
        </p>
      </div>
      {floor !== null && <FloorButton id={conversation.conversation_id} mine={floor === me} />}
    </>
  );
}

function floorOf(floor: string, me: string): string {
  if (floor === BOT) return texts.floor.bot;
  if (floor === ANYBODY) return texts.floor.anybody;
  return floor === me ? texts.floor.me : texts.floor.colleague(texts.thread.colleague);
}

function FloorButton({ id, mine }: { readonly id: string; readonly mine: boolean }) {
  const desk = useDesk();
  const give = useMutation({ mutationFn: () => desk.giveFloor(id, mine ? "bot" : "me") });
  return (
    <div className={styles["headButton"]}>
      <Button size="sm" variant={mine ? "default" : "filled"} loading={give.isPending} onClick={() => give.mutate()}>
        {mine ? texts.floor.handBack : texts.floor.takeOver}
      </Button>
      {give.isError && (
        <span className={styles["headError"]} role="alert">
          {texts.floor.failed}
        </span>
      )}
    </div>
  );
}
