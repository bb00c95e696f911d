/** What was said, oldest at the top; earlier pages are read as they come into sight, and the newest stays in sight. */

import { Button, Loader } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { Down } from "../icons";
import { UNREAD_THREAD } from "../live/changes";
import { rowsOf, type Row } from "../live/rows";
import { useDesk, useShown } from "../live/use-desk";
import { texts } from "../texts";
import styles from "./inbox.module.css";
import { ThreadRow } from "./thread-row";

/** Rows from the beginning at which the page before is read. */
const AHEAD = 8;
const GUESS: Readonly<Record<Row["is"], number>> = { day: 44, message: 48, happening: 36, outgoing: 48 };
/** Pixels from the end that still count as being there. */
const AT_END = 60;

export function Messages({ id, name }: { readonly id: string; readonly name: string }) {
  const desk = useDesk();
  const thread = useShown((shown) => shown.threads.get(id) ?? UNREAD_THREAD);
  const outgoing = useShown((shown) => shown.outgoing);
  const refused = useShown((shown) => shown.refused);
  const typing = useShown((shown) => shown.typing.has(id));
  const rows = useMemo(() => {
    const here = outgoing.filter(({ conversation_id }) => conversation_id === id);
    return rowsOf(thread, here, refused.filter(({ message }) => message.conversation_id === id));
  }, [thread, outgoing, refused, id]);
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: (index) => GUESS[rows[index]?.is ?? "message"],
    getItemKey: (index) => rows[index]?.key ?? index,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: AT_END,
    overscan: 8,
    paddingStart: 12,
    paddingEnd: 12,
  });
  const isThere = rows.length > 0;
  const [begun, setBegun] = useState(false);
  useLayoutEffect(() => {
    if (!isThere) return undefined;
    virtual.scrollToEnd();
    const there = requestAnimationFrame(() => setBegun(true)); // until then the beginning counts as seen
    return () => cancelAnimationFrame(there);
  }, [isThere, virtual]);
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  useEffect(() => {
    if (begun && isThere && first <= AHEAD && thread.cursor !== null && !thread.failed) void desk.earlier(id);
  }, [desk, id, begun, isThere, first, thread.cursor, thread.failed, thread.reading]);
  const atEnd = !isThere || virtual.isAtEnd(AT_END);
  useReading(id, atEnd && isThere, thread.messages.at(-1)?.position ?? 0);
  return (
    <div className={styles["messagesFrame"]}>
      <div
        className={styles["messages"]}
        ref={frame}
        role="log"
        aria-live="polite"
        aria-busy={thread.reading}
        aria-label={texts.thread.label(name)}
        tabIndex={0}
      >
        {thread.reading && (
          <div className={styles["reading"]}>
            <Loader size="xs" aria-label={texts.thread.loading} />
          </div>
        )}
        {thread.failed && (
          <div className={styles["notRead"]}>
            {texts.thread.failed}{" "}
            <Button size="compact-sm" variant="light" onClick={() => void desk.earlier(id)}>
              {texts.thread.again}
            </Button>
          </div>
        )}
        <div className={styles["tall"]} style={{ height: virtual.getTotalSize() }}>
          {items.map(({ key, index, start }) => {
            const row = rows[index];
            return (
              row && (
                <div key={key} data-index={index} ref={virtual.measureElement} className={styles["placed"]} style={{ transform: `translateY(${start}px)` }}>
                  <ThreadRow row={row} me={desk.me.user_id} />
                </div>
              )
            );
          })}
        </div>
      </div>
      {typing && <div className={styles["typing"]}>{texts.thread.someoneTypes(texts.thread.colleague)}</div>}
      {!atEnd && (
        <Button
          className={styles["toEnd"]}
          size="compact-md"
          radius="xl"
          variant="default"
          leftSection={<Down size={16} />}
          onClick={() => virtual.scrollToEnd()}
        >
          {texts.thread.toEnd}
        </Button>
      )}
    </div>
  );
}

/** Read is what was on a screen that somebody looks at. */
function useReading(id: string, atEnd: boolean, newest: number): void {
  const desk = useDesk();
  useEffect(() => {
    const look = () => {
      if (atEnd && newest > 0 && document.visibilityState === "visible") desk.read(id);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [desk, id, atEnd, newest]);
}
