/** The messages of a thread, oldest first; earlier pages load while scrolling up, and the view sticks to the newest. */

import { Button, Loader } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";

import { Down } from "../icons";
import { auditTrail } from "../live/requests";
import { UNREAD_THREAD } from "../live/changes";
import { threadEventsOf, type ThreadEvent } from "../live/thread-events";
import { rowsOf, type Row } from "../live/rows";
import { useInboxStore, useInboxState } from "../live/use-inbox-store";
import type { Conversation, Message } from "../model";
import { texts } from "../texts";
import { nameOf } from "../display-text";
import { BotTurn } from "./bot-turn";
import styles from "./inbox.module.css";
import { goTo, usePositionInPath } from "./path";
import { ThreadRow, type RowContext } from "./thread-row";
import { useNames } from "./use-names";
import { useNow } from "./use-window";

/** The previous page is loaded this many rows before the start. */
const AHEAD = 8;
const GUESS: Readonly<Record<Row["is"], number>> = { day: 44, unread: 40, message: 48, event: 36, outgoing: 48 };
/** Within this many pixels, the view counts as scrolled to the end. */
const AT_END = 60;

interface Props {
  readonly id: string;
  readonly conversation: Conversation | undefined;
  readonly onAnswer: ((message: Message) => void) | null;
}

export function Messages({ id, conversation, onAnswer }: Props) {
  const store = useInboxStore();
  const names = useNames();
  const name = conversation ? nameOf(conversation) : "";
  const thread = useInboxState((state) => state.threads.get(id) ?? UNREAD_THREAD);
  const outgoing = useInboxState((state) => state.outgoing);
  const refused = useInboxState((state) => state.refused);
  const typing = useInboxState((state) => state.typing.get(id));
  const events = useThreadEvents(id, conversation?.kind === "customer", thread.changes);
  const readUpTo = useReadUpTo(conversation);
  const now = useNow(60_000);
  const rows = useMemo(() => {
    const here = outgoing.filter(({ conversation_id }) => conversation_id === id);
    const refusedHere = refused.filter(({ message }) => message.conversation_id === id);
    return rowsOf(thread, { events, outgoing: here, refused: refusedHere, readUpTo, now });
  }, [thread, events, outgoing, refused, readUpTo, now, id]);
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
  const isThere = thread.messages.length > 0 || rows.length > 0;
  const [begun, setBegun] = useState(false);
  useLayoutEffect(() => {
    if (!isThere) return undefined;
    virtual.scrollToEnd();
    const there = requestAnimationFrame(() => setBegun(true)); // until then, the start of the list counts as visible
    return () => cancelAnimationFrame(there);
  }, [isThere, virtual]);
  const [sought, seek] = useJumpTarget(id, begun, rows, (index) => virtual.scrollToIndex(index, { align: "center" }));
  const jump = useCallback((position: number) => (position === sought ? seek() : goTo(id, position)), [id, sought, seek]);
  const me = store.me.user_id;
  const context = useMemo<RowContext>(() => ({ me, name, names, sought, jump, answer: onAnswer }), [me, name, names, sought, jump, onAnswer]);
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  useEffect(() => {
    if (begun && isThere && first <= AHEAD && thread.cursor !== null && !thread.failed) void store.earlier(id);
  }, [store, id, begun, isThere, first, thread.cursor, thread.failed, thread.reading]);
  const atEnd = !isThere || virtual.isAtEnd(AT_END);
  useStickToEnd(frame, atEnd, virtual.scrollToEnd);
  useReadReceipts(id, atEnd && isThere, thread.messages.at(-1)?.position ?? 0);
  return (
    <>
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
              <Button size="compact-sm" variant="light" onClick={() => void store.earlier(id)}>
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
                    <ThreadRow row={row} context={context} />
                  </div>
                )
              );
            })}
          </div>
        </div>
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
      {typing !== undefined ? (
        <div className={styles["typing"]}>{texts.thread.someoneTypes(names(typing))}</div>
      ) : (
        conversation && <BotTurn conversation={conversation} />
      )}
    </>
  );
}

/** Keeps the view at the end when the composer grows or the window shrinks. */
function useStickToEnd(frame: RefObject<HTMLDivElement | null>, atEnd: boolean, toEnd: () => void): void {
  const latest = useRef({ atEnd, toEnd });
  useEffect(() => {
    latest.current = { atEnd, toEnd };
  });
  useEffect(() => {
    const watching = new ResizeObserver(() => latest.current.atEnd && latest.current.toEnd());
    if (frame.current !== null) watching.observe(frame.current);
    return () => watching.disconnect();
  }, [frame]);
}

const NOTHING: readonly ThreadEvent[] = [];

/** Reloaded after every change in the feed, since feed items do not name the author of a change. */
function useThreadEvents(id: string, withCustomer: boolean, changes: number): readonly ThreadEvent[] {
  const { client } = useInboxStore();
  const { data } = useQuery({
    queryKey: ["auditTrail", id, changes],
    queryFn: async () => threadEventsOf(await auditTrail(client, id)),
    enabled: withCustomer,
    placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
  });
  return data ?? NOTHING;
}

/** The read position when the thread was opened; null if nothing was unread. */
function useReadUpTo(conversation: Conversation | undefined): number | null {
  const [place, setPlace] = useState<number | null | undefined>(undefined);
  useEffect(() => {
    if (conversation !== undefined && place === undefined) setPlace(conversation.unread > 0 ? conversation.read_position : null);
  }, [conversation, place]);
  return place ?? null;
}

/** Scrolls once to the message that the URL names, however far back it is. */
function useJumpTarget(id: string, begun: boolean, rows: readonly Row[], show: (index: number) => void): readonly [number | null, () => void] {
  const store = useInboxStore();
  const position = usePositionInPath();
  const [reached, setReached] = useState<number | null>(null);
  const [again, setAgain] = useState(0);
  const shown = useRef<number | null>(null);
  useEffect(() => {
    if (position === null || !begun) return undefined;
    const leaving = new AbortController();
    shown.current = null;
    void store.reach(id, position, leaving.signal).then(() => !leaving.signal.aborted && setReached(position));
    return () => leaving.abort();
  }, [store, id, position, begun, again]);
  useEffect(() => {
    if (reached === null || reached !== position || shown.current === reached) return;
    const index = rows.findIndex((row) => row.is === "message" && row.message.position === reached);
    if (index === -1) return;
    shown.current = reached;
    show(index);
  });
  const seek = useCallback(() => setAgain((times) => times + 1), []);
  return [position, seek];
}

/** Messages count as read when they are on a visible screen. */
function useReadReceipts(id: string, atEnd: boolean, newest: number): void {
  const store = useInboxStore();
  useEffect(() => {
    const look = () => {
      if (atEnd && newest > 0 && document.visibilityState === "visible") store.read(id);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [store, id, atEnd, newest]);
}
