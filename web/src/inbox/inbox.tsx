/** The two halves of the inbox: who wrote, and what was said. */

import { ConversationList } from "./conversation-list";
import styles from "./inbox.module.css";
import { NoThread } from "./no-thread";
import { useConversationInPath } from "./path";
import { ThreadPane } from "./thread-pane";

export function Inbox() {
  const open = useConversationInPath();
  return (
    <div className={styles["halves"]} data-open={open !== null || undefined}>
      <ConversationList open={open} />
      <main className={styles["main"]}>{open === null ? <NoThread /> : <ThreadPane key={open} id={open} />}</main>
    </div>
  );
}
