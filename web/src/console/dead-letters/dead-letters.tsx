/** Messages that ended FAILED, grouped by the error: what it means, what to do, and sending them again. */

import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";

import { useDesk } from "../../live/use-desk";
import { ask, call } from "../api";
import { Answered, Curl, Deed, Page } from "../kit";
import type { OutboundMessage } from "../message/model";
import { useMay } from "../roles";
import { words as frame } from "../texts";
import { Became, type SentAgain } from "./became";
import styles from "./dead-letters.module.css";
import { GroupPanel } from "./group";
import { groupsOf } from "./groups";
import { words } from "./texts";

const AT_ONCE = 1_000;
const MOST = 3_000;
const EVERY_MS = 10_000;

interface Letters {
  readonly messages: readonly OutboundMessage[];
  readonly more: boolean;
}

/** So many that groups can be told from each other; the rest is only said to be there. */
async function readLetters(): Promise<Letters> {
  const messages: OutboundMessage[] = [];
  for (;;) {
    const before = messages.at(-1)?.id ?? null;
    const { content } = await ask(call("get", "/api/v1/outbound/dead-letters", { query: { before, limit: AT_ONCE } }));
    messages.push(...content);
    if (content.length < AT_ONCE) return { messages, more: false };
    if (messages.length >= MOST) return { messages, more: true };
  }
}

const useLetters = (): UseQueryResult<Letters> => useQuery({ queryKey: ["api", "dead-letters"], queryFn: readLetters, refetchInterval: EVERY_MS, refetchOnWindowFocus: true });

export default function DeadLetters() {
  const { me } = useDesk();
  const maySend = useMay("sender");
  const letters = useLetters();
  const [again, setAgain] = useState<SentAgain | null>(null);
  const { messages = [], more = false } = letters.data ?? {};
  return (
    <Page
      title={frame.pages.deadLetters}
      intro={words.intro}
      actions={
        <>
          <Curl call={call("get", "/api/v1/outbound/dead-letters")} cli={`waypost admin dead-letters ${me.org_id}`} />
          {maySend && messages.length > 0 && (
            <Deed
              label={words.every}
              title={words.everyTitle(messages.length, more)}
              call={call("post", "/api/v1/outbound/dead-letters/replay", { body: {} })}
              cli={`waypost admin replay ${me.org_id} --all`}
              done={({ replayed }) => words.done(replayed)}
              onDone={({ replayed }) => setAgain({ count: replayed, ids: messages.map(({ id }) => id) })}
            >
              {words.groupText}
            </Deed>
          )}
        </>
      }
    >
      {again !== null && <Became again={again} onClose={() => setAgain(null)} />}
      <Answered to={letters}>
        {(found) => (
          <>
            {found.more && <p className={styles["note"]}>{words.atLeast(found.messages.length)}</p>}
            {found.messages.length === 0 && <p className={styles["none"]}>{words.none}</p>}
            {groupsOf(found.messages).map((group) => (
              <GroupPanel key={group.code} group={group} more={found.more} onSentAgain={maySend ? setAgain : null} />
            ))}
          </>
        )}
      </Answered>
    </Page>
  );
}
