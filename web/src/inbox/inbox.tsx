/** The two halves of the inbox: who wrote, and what was said; beside it who they are. */

import { lazy, Suspense, useMemo, useState } from "react";

import { useDetails } from "./details";
import { ConversationList } from "./conversation-list";
import styles from "./inbox.module.css";
import { useKeys } from "./keys";
import { NoThread } from "./no-thread";
import { useConversationInPath } from "./path";
import { ThreadPane } from "./thread-pane";

const KeyHelp = lazy(() => import("./key-help"));

export function Inbox() {
  const open = useConversationInPath();
  const [details] = useDetails();
  const [help, setHelp] = useState(false);
  useKeys(useMemo(() => ({ "?": () => setHelp(true) }), []));
  const isBeside = open !== null && details;
  return (
    <div className={styles["inbox"]}>
      <div className={styles["halves"]} data-open={open !== null || undefined}>
        <ConversationList open={open} />
        <main className={styles["main"]} data-details={isBeside || undefined}>
          {open === null ? <NoThread /> : <ThreadPane key={open} id={open} />}
        </main>
      </div>
      <Suspense>{help && <KeyHelp onClose={() => setHelp(false)} />}</Suspense>
    </div>
  );
}
