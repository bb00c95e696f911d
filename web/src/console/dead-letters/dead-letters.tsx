/** FAILED messages grouped by error, with advice and an action to send them again. */

import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useInboxStore } from "../../live/use-inbox-store";
import { call } from "../api";
import { QueryState, Curl, ActionButton, Page } from "../kit";
import { useMay } from "../roles";
import { words as frame } from "../texts";
import { ReplayResults, type Replay } from "./replay-results";
import styles from "./dead-letters.module.css";
import { GroupPanel } from "./group";
import { groupsOf } from "./groups";
import { DEAD_LETTERS } from "./dead-letter-query";
import { words } from "./texts";

export default function DeadLetters() {
  const { me } = useInboxStore();
  const maySend = useMay("sender");
  const letters = useQuery(DEAD_LETTERS);
  const [replay, setReplay] = useState<Replay | null>(null);
  const { messages = [], more = false } = letters.data ?? {};
  return (
    <Page
      title={frame.pages.deadLetters}
      intro={words.intro}
      actions={
        <>
          <Button size="compact-sm" variant="default" loading={letters.isFetching} onClick={() => void letters.refetch()}>
            {words.refresh}
          </Button>
          <Curl call={call("get", "/api/v1/outbound/dead-letters")} cli={`waypost admin dead-letters ${me.org_id}`} />
          {maySend && messages.length > 0 && (
            <ActionButton
              label={words.every}
              title={words.everyTitle(messages.length, more)}
              call={call("post", "/api/v1/outbound/dead-letters/replay", { body: {} })}
              cli={`waypost admin replay ${me.org_id} --all`}
              done={({ replayed }) => words.done(replayed)}
              onDone={({ replayed }) => setReplay({ at: Date.now(), count: replayed, ids: messages.map(({ id }) => id) })}
            >
              {words.groupText}
            </ActionButton>
          )}
        </>
      }
    >
      {replay !== null && <ReplayResults replay={replay} onClose={() => setReplay(null)} />}
      <QueryState query={letters}>
        {(found) => (
          <>
            {found.more && <p className={styles["note"]}>{words.atLeast(found.messages.length)}</p>}
            {found.messages.length === 0 && <p className={styles["none"]}>{words.none}</p>}
            {groupsOf(found.messages).map((group) => (
              <GroupPanel key={group.code} group={group} more={found.more} onReplayed={maySend ? setReplay : null} />
            ))}
          </>
        )}
      </QueryState>
    </Page>
  );
}
