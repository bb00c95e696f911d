/** Shows the app to signed-in users and the sign-in form to everyone else. */

import { Center, Loader } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";

import { AppShell } from "./shell/app-shell";
import type { Me } from "./model";
import { codeInAddress, leave, signIn, SignInFailed, watchAddress, whoAmI } from "./session";
import { SignIn } from "./sign-in";
import { texts } from "./texts";

const ME = ["me"];
/** Read once, before the first render: a code can be used only once. */
const code = codeInAddress();
watchAddress();

async function loadSession(): Promise<{ me: Me | null; failed: boolean }> {
  if (code === null) return { me: await whoAmI(), failed: false };
  try {
    return { me: await signIn({ code }), failed: false };
  } catch (error) {
    if (error instanceof SignInFailed && error.status === 401) {
      const me = await whoAmI();
      return { me, failed: me === null };
    }
    throw error;
  }
}

export function App() {
  const queries = useQueryClient();
  const { data, isPending, error, refetch } = useQuery({ queryKey: ME, queryFn: loadSession, staleTime: Infinity, gcTime: Infinity });
  const [leaving, setLeaving] = useState(false);
  const onSignedIn = useCallback((me: Me) => queries.setQueryData(ME, { me, failed: false }), [queries]);
  const onLeave = useCallback((notifyServer: boolean) => {
    setLeaving(true);
    return leave(notifyServer);
  }, []);
  if (isPending || leaving)
    return (
      <Center h="100dvh">
        <Loader aria-label={texts.signIn.working} />
      </Center>
    );
  if (data?.me) return <AppShell key={data.me.user_id} me={data.me} onLeave={onLeave} />;
  const problem = error ? texts.signIn.unreachable : data?.failed ? texts.signIn.linkEnded : null;
  return <SignIn problem={problem} onSignedIn={onSignedIn} onRetry={error ? () => void refetch() : null} />;
}
