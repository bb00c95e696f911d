import { Stack, Text } from "@mantine/core";

import { Chats } from "../icons";
import { texts } from "../texts";
import styles from "./inbox.module.css";

export function NoThread() {
  return (
    <Stack className={styles["none"]} align="center" justify="center" gap="xs">
      <Chats size={40} />
      <Text fw={600} size="lg">
        {texts.thread.none}
      </Text>
      <Text c="dimmed" ta="center" maw={320}>
        {texts.thread.noneHint}
      </Text>
    </Stack>
  );
}
