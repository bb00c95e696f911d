/** One conversation: who it is with, who answers, what was said, and what is to be said. */

import { ActionIcon } from "@mantine/core";
import { lazy, Suspense, useEffect, useState, type DragEvent } from "react";

import { Back } from "../icons";
import { useDesk, useShown } from "../live/use-desk";
import type { Message } from "../model";
import { go } from "../path";
import { ConnectionStrip } from "../room/connection-badge";
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
  const desk = useDesk();
  const conversation = useShown((shown) => shown.conversations.get(id));
  const joined = useShown((shown) => shown.joined.get(id));
  const isRead = useShown((shown) => shown.lists.open.asked);
  const [details, showDetails] = useDetails();
  useEffect(uncover, [id]);
  const [answered, setAnswered] = useState<Message | null>(null);
  const files = useAttachments(conversation?.phone_number_id ?? null);
  useEffect(() => {
    if (isRead) desk.open(id);
    return () => desk.open(null);
  }, [desk, id, isRead]);
  useEffect(() => {
    if (joined !== undefined) go(pathTo(joined), "replace");
  }, [joined]);
  const mayWrite = desk.me.role !== "readonly";
  const takesFiles = mayWrite && conversation?.kind === "customer";
  const { isOver, ...dropping } = useDropping(takesFiles ? files.add : null);
  const answer = (message: Message) => {
    setAnswered(message);
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
        {conversation && <Composer conversation={conversation} files={files} answered={answered} onAnswered={() => setAnswered(null)} />}
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

/** Files that are dragged here are taken; what else is dragged is left to the browser. */
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
