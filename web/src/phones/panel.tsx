/** The phone panel next to the inbox; loaded on first use. */

import { useEffect, useRef } from "react";

import { goTo } from "../inbox/path";
import { useInboxState } from "../live/use-inbox-store";
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
      <Trouble faults={phones.screenState.screen?.faults ?? null} folded />
    </aside>
  );
}

/** The inbox conversation with this phone, if there is one. */
function useConversationWith(phone: string): string | null {
  return useInboxState(({ conversations }) => {
    for (const { contact, conversation_id } of conversations.values())
      if (contact?.phone?.endsWith(phone) && contact.phone.replace("+", "") === phone) return conversation_id;
    return null;
  });
}

/** Opens the phone's conversation on the first visit. */
function useOpenFirst(conversation: string | null): void {
  const came = useRef(location.pathname === "/");
  useEffect(() => {
    if (!came.current || conversation === null) return;
    came.current = false;
    if (location.pathname === "/") goTo(conversation);
  }, [conversation]);
}
