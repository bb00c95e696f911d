/** The phone at the left of the inbox. Loaded when it is first shown. */

import { useEffect, useRef } from "react";

import { goTo } from "../inbox/path";
import { useShown } from "../live/use-desk";
import { Device } from "./device";
import styles from "./phones.module.css";
import { Switcher } from "./switcher";
import { words } from "./texts";
import { Trouble } from "./trouble";
import { usePhones } from "./use-phones";

export default function PhonePanel() {
  const phones = usePhones();
  const conversation = useConversationWith(phones.person.phone);
  useOpenFirst(conversation);
  return (
    <aside className={styles["panel"]} aria-label={words.panel}>
      <Switcher phones={phones} />
      <Device key={phones.person.phone} phones={phones} conversation={conversation} />
      <Trouble faults={phones.watched.look?.faults ?? null} folded />
    </aside>
  );
}

/** The inbox's conversation with this phone, if somebody has written. */
function useConversationWith(phone: string): string | null {
  return useShown(({ conversations }) => {
    for (const { contact, conversation_id } of conversations.values())
      if (contact?.phone?.endsWith(phone) && contact.phone.replace("+", "") === phone) return conversation_id;
    return null;
  });
}

/** Whoever has just come in sees both sides of one conversation. */
function useOpenFirst(conversation: string | null): void {
  const came = useRef(location.pathname === "/");
  useEffect(() => {
    if (!came.current || conversation === null) return;
    came.current = false;
    if (location.pathname === "/") goTo(conversation);
  }, [conversation]);
}
