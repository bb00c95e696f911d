/** The customer panel: identity, assignment, dossier, consent and activity. */

import { ActionIcon } from "@mantine/core";
import type { KeyboardEvent } from "react";

import { Cross } from "../icons";
import type { Conversation } from "../model";
import { linkTo } from "../path";
import { texts } from "../texts";
import { dayAndTime } from "../time";
import { nameOf } from "../display-text";
import { ContactActivity } from "./contact-activity";
import { ContactConsents } from "./contact-consents";
import { ContactDossier } from "./contact-dossier";
import { ContactWork } from "./contact-work";
import styles from "./contact.module.css";
import { useNow, useWindow } from "./use-window";

interface Props {
  readonly conversation: Conversation;
  readonly onClose: () => void;
}

export default function ContactPanel({ conversation, onClose }: Props) {
  const { contact, kind } = conversation;
  const dossier = contact?.dossier_id ?? null;
  /** Also from an input field: its text is kept. */
  const leave = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.nativeEvent.isComposing) return;
    event.preventDefault();
    onClose();
  };
  return (
    <aside className={styles["panel"]} aria-label={texts.contact.title} onKeyDown={leave}>
      <header className={styles["top"]}>
        <h3 className={styles["title"]}>{texts.contact.title}</h3>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={texts.thread.closeDetails} onClick={onClose}>
          <Cross />
        </ActionIcon>
      </header>
      <div className={styles["scroll"]} tabIndex={0} role="group" aria-label={nameOf(conversation)}>
        <Identity conversation={conversation} />
        {kind === "customer" && <ContactWork conversation={conversation} />}
        {dossier !== null && (
          <>
            <ContactConsents conversation={conversation} dossierId={dossier} />
            <ContactDossier dossierId={dossier} />
            <ContactActivity dossierId={dossier} stamp={conversation.last_message?.position ?? 0} />
          </>
        )}
        {kind === "customer" && dossier === null && <p className={styles["soft"]}>{texts.contact.noDossier}</p>}
        <p className={styles["section"]}>
          <a className={styles["link"]} {...linkTo(`/console/audit?type=CONVERSATION&id=${conversation.conversation_id}`)}>
            {texts.contact.audit}
          </a>
        </p>
      </div>
    </aside>
  );
}

function Identity({ conversation }: { readonly conversation: Conversation }) {
  const { contact, phone_number_id: number } = conversation;
  const rows: readonly (readonly [string, string | null | undefined])[] = [
    [texts.contact.phone, contact?.phone],
    [texts.contact.username, contact?.username],
    [texts.contact.userId, contact?.user_id],
    [texts.contact.number, number],
  ];
  return (
    <section className={styles["section"]}>
      <p className={styles["name"]}>
        <bdi>{nameOf(conversation)}</bdi>
      </p>
      <dl className={styles["facts"]}>
        {rows.map(([label, value]) =>
          value ? (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </div>
          ) : null,
        )}
        {conversation.kind === "customer" && (
          <div>
            <dt>{texts.contact.window}</dt>
            <dd>
              <WindowLeft conversation={conversation} />
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

function WindowLeft({ conversation }: { readonly conversation: Conversation }) {
  const window = useWindow(conversation);
  const now = useNow();
  if (window === null || window.until === null) return texts.contact.windowNever;
  const moment = dayAndTime(window.until, new Date(now));
  return window.open ? texts.contact.windowLeft(timeLeft(Date.parse(window.until) - now), moment) : texts.contact.windowOver(moment);
}

/** For example `5 h 12 min`. */
export function timeLeft(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  const hours = Math.floor(minutes / 60);
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}
