/** The header of a thread: the customer, who handles the conversation, and its actions. */

import { ActionIcon, Avatar, Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useMemo } from "react";

import { Card, Check, Person, Robot } from "../icons";
import { change, giveFloor } from "../live/requests";
import { ANYBODY, BOT } from "../live/filters";
import { useInboxStore } from "../live/use-inbox-store";
import type { Conversation, Me } from "../model";
import { texts } from "../texts";
import { colourOf, initialsOf, nameOf } from "../display-text";
import { useDetails } from "./details";
import styles from "./inbox.module.css";
import { useKeys } from "./keys";
import { useNames, type Names } from "./use-names";

export function ThreadHead({ conversation }: { readonly conversation: Conversation }) {
  const name = nameOf(conversation);
  const { me } = useInboxStore();
  const names = useNames();
  const { floor, contact, state } = conversation;
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
          {state === "closed" && <span className={styles["floor"]}>{texts.list.closed}</span>}
          {floor !== null && (
            <span className={styles["floor"]} data-urgent={floor === ANYBODY || undefined}>
              {floor === BOT && me.bot ? <Robot size={14} /> : <Person size={14} />} <bdi>{floorOf(floor, me, names)}</bdi>
            </span>
          )}
          {contact?.phone && contact.phone !== name && <span className={styles["phone"]}>{contact.phone}</span>}
        </p>
      </div>
      {floor !== null && <Actions conversation={conversation} mine={floor === me.user_id} mayWrite={me.role !== "readonly"} />}
    </>
  );
}

/** Without a bot, conversations of the bot are not handled by anyone. */
function floorOf(floor: string, me: Me, names: Names): string {
  if (floor === BOT) return me.bot ? texts.floor.bot : texts.floor.unhandled;
  if (floor === ANYBODY) return texts.floor.anybody;
  return floor === me.user_id ? texts.floor.me : texts.floor.colleague(names(floor));
}

function Actions({ conversation, mine, mayWrite }: { readonly conversation: Conversation; readonly mine: boolean; readonly mayWrite: boolean }) {
  const { conversation_id: id, state } = conversation;
  const store = useInboxStore();
  const [details, showDetails] = useDetails();
  const isClosed = state === "closed";
  const give = useMutation({ mutationFn: () => giveFloor(store.client, id, mine ? "bot" : "me"), onSuccess: (row) => store.take(row) });
  const close = useMutation({ mutationFn: () => change(store.client, id, { state: isClosed ? "open" : "closed" }), onSuccess: (row) => store.take(row) });
  const { mutate: giveIt } = give;
  const { mutate: closeIt } = close;
  const keys = useMemo(() => {
    const always = { i: () => showDetails(!details) };
    return mayWrite ? { ...always, e: () => closeIt(), t: () => giveIt() } : always;
  }, [mayWrite, details, showDetails, closeIt, giveIt]);
  useKeys(keys);
  return (
    <div className={styles["headActions"]}>
      {(give.isError || close.isError) && (
        <span className={styles["headError"]} role="alert">
          {texts.floor.failed}
        </span>
      )}
      {mayWrite && (
        <Button size="sm" variant={mine ? "default" : "filled"} loading={give.isPending} aria-label={mine ? (store.me.bot ? texts.floor.handBackLabel : texts.floor.handBack) : texts.floor.takeOver} onClick={() => giveIt()}>
          {mine ? texts.floor.handBack : texts.floor.takeOver}
        </Button>
      )}
      {mayWrite && (
        <ActionIcon variant={isClosed ? "light" : "default"} size={36} loading={close.isPending} aria-label={isClosed ? texts.thread.reopen : texts.thread.close} title={isClosed ? texts.thread.reopen : texts.thread.closeHint} onClick={() => closeIt()}>
          <Check />
        </ActionIcon>
      )}
      <ActionIcon variant={details ? "light" : "default"} size={36} aria-label={texts.thread.details} title={texts.thread.details} aria-expanded={details} onClick={() => showDetails(!details)}>
        <Card />
      </ActionIcon>
    </div>
  );
}
