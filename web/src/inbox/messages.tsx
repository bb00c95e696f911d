/** What was said, oldest at the top; earlier pages are read as they come into sight, and the newest stays in sight. */

import { Button, Loader } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";

import { Down } from "../icons";
import { trail } from "../live/asking";
import { UNREAD_THREAD } from "../live/changes";
import { happeningsOf, type Happening } from "../live/happenings";
import { rowsOf, type Row } from "../live/rows";
import { useDesk, useShown } from "../live/use-desk";
import type { Conversation, Message } from "../model";
import { texts } from "../texts";
import { nameOf } from "../words";
import { BotTurn } from "./bot-turn";
import styles from "./inbox.module.css";
import { goTo, usePositionInPath } from "./path";
import { ThreadRow, type Around } from "./thread-row";
import { useNames } from "./use-names";
import { useNow } from "./use-window";

/** Rows from the beginning at which the page before is read. */
const AHEAD = 8;
const GUESS: Readonly<Record<Row["is"], number>> = { day: 44, unread: 40, message: 48, happening: 36, outgoing: 48 };
/** Pixels from the end that still count as being there. */
const AT_END = 60;

interface Props {
  readonly id: string;
  readonly conversation: Conversation | undefined;
  readonly onAnswer: ((message: Message) => void) | null;
}

export function Messages({ id, conversation, onAnswer }: Props) {
  const desk = useDesk();
  const names = useNames();
  const name = conversation ? nameOf(conversation) : "";
  const thread = useShown((shown) => shown.threads.get(id) ?? UNREAD_THREAD);
  const outgoing = useShown((shown) => shown.outgoing);
  const refused = useShown((shown) => shown.refused);
  const typing = useShown((shown) => shown.typing.get(id));
  const happenings = useHappenings(id, conversation?.kind === "customer", thread.changes);
  const readUpTo = useReadUpTo(conversation);
  const now = useNow(60_000);
  const rows = useMemo(() => {
    const here = outgoing.filter(({ conversation_id }) => conversation_id === id);
    const refusedHere = refused.filter(({ message }) => message.conversation_id === id);
    return rowsOf(thread, { happenings, outgoing: here, refused: refusedHere, readUpTo, now });
  }, [thread, happenings, outgoing, refused, readUpTo, now, id]);
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
    const there = requestAnimationFrame(() => setBegun(true)); // until then the beginning counts as seen
    return () => cancelAnimationFrame(there);
  }, [isThere, virtual]);
  const [sought, seek] = useSought(id, begun, rows, (index) => virtual.scrollToIndex(index, { align: "center" }));
  const jump = useCallback((position: number) => (position === sought ? seek() : goTo(id, position)), [id, sought, seek]);
  const me = desk.me.user_id;
  const around = useMemo<Around>(() => ({ me, name, names, sought, jump, answer: onAnswer }), [me, name, names, sought, jump, onAnswer]);
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  useEffect(() => {
    if (begun && isThere && first <= AHEAD && thread.cursor !== null && !thread.failed) void desk.earlier(id);
  }, [desk, id, begun, isThere, first, thread.cursor, thread.failed, thread.reading]);
  const atEnd = !isThere || virtual.isAtEnd(AT_END);
  useStaying(frame, atEnd, virtual.scrollToEnd);
  useReading(id, atEnd && isThere, thread.messages.at(-1)?.position ?? 0);
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
                    <ThreadRow row={row} around={around} />
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

/** Who reads the end stays there when the box below grows, or the window shrinks. */
function useStaying(frame: RefObject<HTMLDivElement | null>, atEnd: boolean, toEnd: () => void): void {
  const stays = useRef({ atEnd, toEnd });
  useEffect(() => {
    stays.current = { atEnd, toEnd };
  });
  useEffect(() => {
    const watching = new ResizeObserver(() => stays.current.atEnd && stays.current.toEnd());
    if (frame.current !== null) watching.observe(frame.current);
    return () => watching.disconnect();
  }, [frame]);
}

const NOTHING: readonly Happening[] = [];

/** Read anew whenever the feed tells of a change: it does not say who made it. */
function useHappenings(id: string, withCustomer: boolean, changes: number): readonly Happening[] {
  const { client } = useDesk();
  const { data } = useQuery({
    queryKey: ["trail", id, changes],
    queryFn: async () => happeningsOf(await trail(client, id)),
    enabled: withCustomer,
    placeholderData: (before, question) => (question?.queryKey[1] === id ? before : undefined),
  });
  return data ?? NOTHING;
}

/** Where the reading had come to when the thread was opened; null when nothing was unread then. */
function useReadUpTo(conversation: Conversation | undefined): number | null {
  const [place, setPlace] = useState<number | null | undefined>(undefined);
  useEffect(() => {
    if (conversation !== undefined && place === undefined) setPlace(conversation.unread > 0 ? conversation.read_position : null);
  }, [conversation, place]);
  return place ?? null;
}

/** The message that the address names is brought into sight, once, however far back it is. */
function useSought(id: string, begun: boolean, rows: readonly Row[], show: (index: number) => void): readonly [number | null, () => void] {
  const desk = useDesk();
  const position = usePositionInPath();
  const [reached, setReached] = useState<number | null>(null);
  const [again, setAgain] = useState(0);
  const shown = useRef<number | null>(null);
  useEffect(() => {
    if (position === null || !begun) return undefined;
    const leaving = new AbortController();
    shown.current = null;
    void desk.reach(id, position, leaving.signal).then(() => !leaving.signal.aborted && setReached(position));
    return () => leaving.abort();
  }, [desk, id, position, begun, again]);
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
