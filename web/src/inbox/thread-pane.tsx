/** One conversation: header, messages, composer and customer panel. */

import { ActionIcon } from "@mantine/core";
import { lazy, Suspense, useEffect, useState, type DragEvent } from "react";

import { Back } from "../icons";
import { useInboxStore, useInboxState } from "../live/use-inbox-store";
import type { Message } from "../model";
import { go } from "../path";
import { ConnectionStrip } from "../shell/connection-badge";
import { texts } from "../texts";
import { Composer } from "./composer";
import { uncover, useDetails } from "./details";
import styles from "./inbox.module.css";
import { Messages } from "./messages";
import { goTo, pathTo } from "./path";
import { ThreadHead } from "./thread-head";
import { useAttachments } from "./use-attachments";

const ContactPanel = lazy(() => import("./contact-panel"));

export function ThreadPane({ id }: { readonly id: string }) {
  const store = useInboxStore();
  const conversation = useInboxState((state) => state.conversations.get(id));
  const joined = useInboxState((state) => state.joined.get(id));
  const isRead = useInboxState((state) => state.lists.open.asked);
  const [details, showDetails] = useDetails();
  useEffect(uncover, [id]);
  const [replyTo, setReplyTo] = useState<Message | null>(null);
  const files = useAttachments(conversation?.phone_number_id ?? null);
  useEffect(() => {
    if (isRead) store.open(id);
    return () => store.open(null);
  }, [store, id, isRead]);
  useEffect(() => {
    if (joined !== undefined) go(pathTo(joined), "replace");
  }, [joined]);
  const mayWrite = store.me.role !== "readonly";
  const takesFiles = mayWrite && conversation?.kind === "customer";
  const { isOver, ...dropping } = useDropping(takesFiles ? files.add : null);
  const answer = (message: Message) => {
    setReplyTo(message);
    document.getElementById("composer")?.focus();
  };
  return (
    <>
      <section className={styles["thread"]} {...dropping}>
        <header className={styles["threadTop"]}>
          <ActionIcon className={styles["back"]} variant="subtle" color="gray" size="lg" aria-label={texts.thread.back} onClick={() => goTo(null)}>
            <Back />
          </ActionIcon>
          {conversation && <ThreadHead conversation={conversation} />}
        </header>
        <ConnectionStrip />
        <Messages id={id} conversation={conversation} onAnswer={takesFiles ? answer : null} />
        {conversation && <Composer conversation={conversation} files={files} replyTo={replyTo} onReplied={() => setReplyTo(null)} />}
        {isOver && <div className={styles["dropHere"]}>{texts.composer.drop}</div>}
      </section>
      {details && conversation && (
        <Suspense>
          <ContactPanel conversation={conversation} onClose={() => showDetails(false)} />
        </Suspense>
      )}
    </>
  );
}

/** Accepts dropped files; other drags are left to the browser. */
function useDropping(take: ((files: Iterable<File>) => void) | null) {
  const [depth, setDepth] = useState(0);
  const isFile = (event: DragEvent): boolean => take !== null && event.dataTransfer.types.includes("Files");
  return {
    isOver: depth > 0,
    onDragEnter: (event: DragEvent) => isFile(event) && setDepth(depth + 1),
    onDragLeave: (event: DragEvent) => isFile(event) && setDepth(Math.max(0, depth - 1)),
    onDragOver: (event: DragEvent) => isFile(event) && event.preventDefault(),
    onDrop: (event: DragEvent) => {
      setDepth(0);
      if (!isFile(event)) return;
      event.preventDefault();
      take?.(event.dataTransfer.files);
    },
  };
}
