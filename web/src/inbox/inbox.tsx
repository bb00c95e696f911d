/** The inbox: conversation list, thread and customer panel. */

import { lazy, Suspense, useMemo, useRef, useState } from "react";

import { ConversationList } from "./conversation-list";
import { useDetails, useRoom } from "./details";
import styles from "./inbox.module.css";
import { useKeys } from "./keys";
import { NoThread } from "./no-thread";
import { useConversationInPath } from "./path";
import { ThreadPane } from "./thread-pane";

const KeyHelp = lazy(() => import("./key-help"));

export function Inbox() {
  const open = useConversationInPath();
  const frame = useRef<HTMLDivElement>(null);
  const [details] = useDetails();
  useRoom(frame);
  const [help, setHelp] = useState(false);
  useKeys(useMemo(() => ({ "?": () => setHelp(true) }), []));
  const isBeside = open !== null && details;
  return (
    <div className={styles["inbox"]} ref={frame}>
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
