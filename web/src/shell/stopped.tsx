/** The banner shown when the client has stopped, with the reason. */

import { Alert, Button, Group, Text } from "@mantine/core";

import { texts } from "../texts";

const NEWER_TAB = 4409;

export function Stopped({ code, onUseHere }: { readonly code: number; readonly onUseHere: () => void }) {
  const elsewhere = code === NEWER_TAB;
  return (
    <Alert color="yellow" variant="light" radius={0} role="alert" p="xs">
      <Group justify="center" gap="md">
        <Text size="sm">{elsewhere ? texts.connection.elsewhere : texts.connection.ended}</Text>
        {elsewhere && (
          <Button size="compact-sm" onClick={onUseHere}>
            {texts.connection.useHere}
          </Button>
        )}
      </Group>
    </Alert>
  );
}
