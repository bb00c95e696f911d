/** The sign-in form. */

import { Alert, Button, Center, Code, Paper, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useState, type FormEvent } from "react";

import { Mark } from "./icons";
import type { Me } from "./model";
import { signIn, SignInFailed } from "./session";
import { texts } from "./texts";

interface Props {
  readonly problem: string | null;
  readonly onSignedIn: (me: Me) => void;
  readonly onRetry: (() => void) | null;
}

export function SignIn({ problem, onSignedIn, onRetry }: Props) {
  const [token, setToken] = useState("");
  const [working, setWorking] = useState(false);
  const [refused, setRefused] = useState<string | null>(problem);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setWorking(true);
    setRefused(null);
    try {
      onSignedIn(await signIn({ token: token.trim() }));
    } catch (error) {
      const known = error instanceof SignInFailed && [401, 422].includes(error.status);
      setRefused(known ? texts.signIn.wrongToken : texts.signIn.unreachable);
      setWorking(false);
    }
  };
  return (
    <Center component="main" mih="100dvh" p="md" className="door">
      <Paper component="form" onSubmit={submit} withBorder shadow="sm" p="xl" radius="lg" w="100%" maw={400}>
        <Stack gap="md">
          <Stack gap={4} align="flex-start">
            <Mark size={40} />
            <Title order={1} size="h2" mt="xs">
              {texts.signIn.title}
            </Title>
            <Text c="dimmed">{texts.signIn.intro}</Text>
          </Stack>
          {refused !== null && (
            <Alert color="red" variant="light" role="alert">
              {refused}
            </Alert>
          )}
          <PasswordInput
            label={texts.signIn.token}
            placeholder={texts.signIn.tokenPlaceholder}
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
            autoComplete="current-password"
            autoFocus
            required
            withAsterisk={false}
          />
          <Button type="submit" loading={working} disabled={token.trim() === ""} fullWidth>
            {texts.signIn.button}
          </Button>
          {onRetry !== null && (
            <Button variant="subtle" onClick={onRetry} fullWidth>
              {texts.list.again}
            </Button>
          )}
          <Text size="sm" c="dimmed">
            {texts.signIn.help} <Code>waypost admin create-user ORG NAME --role admin</Code>
          </Text>
        </Stack>
      </Paper>
    </Center>
  );
}
