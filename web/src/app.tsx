/** Who is signed in sees the room, everybody else the door. */

import { Center, Loader } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";

import { DeskRoom } from "./room/desk-room";
import type { Me } from "./model";
import { codeInAddress, leave, signIn, SignInFailed, watchAddress, whoAmI } from "./session";
import { SignIn } from "./sign-in";
import { texts } from "./texts";

const ME = ["me"];
/** Taken once, before anything is drawn: a code works only once. */
const code = codeInAddress();
watchAddress();

async function arrive(): Promise<{ me: Me | null; failed: boolean }> {
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
  const { data, isPending, error, refetch } = useQuery({ queryKey: ME, queryFn: arrive, staleTime: Infinity, gcTime: Infinity });
  const [leaving, setLeaving] = useState(false);
  const come = useCallback((me: Me) => queries.setQueryData(ME, { me, failed: false }), [queries]);
  const goOut = useCallback((told: boolean) => {
    setLeaving(true);
    return leave(told);
  }, []);
  if (isPending || leaving)
    return (
      <Center h="100dvh">
        <Loader aria-label={texts.signIn.working} />
      </Center>
    );
  if (data?.me) return <DeskRoom key={data.me.user_id} me={data.me} onLeave={goOut} />;
  const problem = error ? texts.signIn.unreachable : data?.failed ? texts.signIn.linkEnded : null;
  return <SignIn problem={problem} onSignedIn={come} onRetry={error ? () => void refetch() : null} />;
}
