/** A small emoji picker; the system's own picker has the others. */

import { ActionIcon, Popover } from "@mantine/core";
import { useState } from "react";

import { Smile } from "../icons";
import { texts } from "../texts";
import styles from "./composer.module.css";

const EMOJI = [..."😀😃😄😁😅😂🙂😉😊😍😘😎🤔😐😕😢😭😡👍👎👌🙏👏💪🤝👋✌👀❤💙💚🔥✨🎉🎁💡✅❌⚠❗❓⏰📅📦🚚📍📞💬📷📄💳🛒🏠🔧☕🍕🌞🌧🚗"];

export function EmojiButton({ onChoose }: { readonly onChoose: (emoji: string) => void }) {
  const [opened, setOpened] = useState(false);
  const choose = (emoji: string) => {
    setOpened(false);
    onChoose(emoji);
  };
  return (
    <Popover opened={opened} onChange={setOpened} position="top-start" withinPortal={false} transitionProps={{ duration: 0 }} trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon variant="subtle" color="gray" size={34} aria-label={texts.composer.emoji} title={texts.composer.emoji} onClick={() => setOpened(!opened)}>
          <Smile />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={styles["emoji"]}>
        {EMOJI.map((emoji) => (
          <button key={emoji} type="button" onClick={() => choose(emoji)}>
            {emoji}
          </button>
        ))}
      </Popover.Dropdown>
    </Popover>
  );
}
