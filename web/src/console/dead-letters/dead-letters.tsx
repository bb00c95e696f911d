/** Messages that ended FAILED, grouped by the error: what it means, what to do, and sending them again. */

import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useDesk } from "../../live/use-desk";
import { call } from "../api";
import { Answered, Curl, Deed, Page } from "../kit";
import { useMay } from "../roles";
import { words as frame } from "../texts";
import { Became, type SentAgain } from "./became";
import styles from "./dead-letters.module.css";
import { GroupPanel } from "./group";
import { groupsOf } from "./groups";
import { LETTERS } from "./letters";
import { words } from "./texts";

export default function DeadLetters() {
  const { me } = useDesk();
  const maySend = useMay("sender");
  const letters = useQuery(LETTERS);
  const [again, setAgain] = useState<SentAgain | null>(null);
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
            <Deed
              label={words.every}
              title={words.everyTitle(messages.length, more)}
              call={call("post", "/api/v1/outbound/dead-letters/replay", { body: {} })}
              cli={`waypost admin replay ${me.org_id} --all`}
              done={({ replayed }) => words.done(replayed)}
              onDone={({ replayed }) => setAgain({ at: Date.now(), count: replayed, ids: messages.map(({ id }) => id) })}
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
