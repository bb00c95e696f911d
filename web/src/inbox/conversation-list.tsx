/** The conversation list, latest first; only visible rows are rendered. */

import { Button, Text, TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";

import { belongs, mayLoadMore, sourceOf, type Filter } from "../live/filters";
import { useInboxStore, useInboxState } from "../live/use-inbox-store";
import { texts } from "../texts";
import { ConversationRow } from "./conversation-row";
import { useDetails } from "./details";
import { Filters } from "./filters";
import styles from "./inbox.module.css";
import { useKeys } from "./keys";
import { goTo } from "./path";
import { SearchResults } from "./search-results";
import { useNow } from "./use-window";

const ROW_HEIGHT = 76;
/** The next page is loaded this many rows before the end. */
const AHEAD = 10;
/** How many conversations are checked automatically for filters that the server does not support. */
const UNASKED = 200;

export function ConversationList({ open }: { readonly open: string | null }) {
  const store = useInboxStore();
  const [words, setWords] = useState("");
  const [filter, setFilter] = useState<Filter>("open");
  const [details, showDetails] = useDetails();
  const source = sourceOf(filter);
  const now = useNow();
  const conversations = useInboxState((state) => state.conversations);
  const listing = useInboxState((state) => state.lists[source]);
  const isRead = useInboxState((state) => state.lists.open.asked);
  const rows = useMemo(
    () => conversations.latest.filter((row) => belongs(row, filter, store.me.user_id, now)),
    [conversations, filter, store, now],
  );
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 6,
  });
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? -1;
  const [upTo, setUpTo] = useState(UNASKED);
  // Beyond the limit, the list shows how many were checked.
  const mayLook = mayLoadMore(filter, listing.looked, upTo, rows.length);
  useEffect(() => {
    if (isRead && mayLook && listing.more && !listing.failed && lastSeen >= rows.length - AHEAD) void store.list(source);
  }, [store, source, isRead, mayLook, listing, lastSeen, rows.length]);
  const hasStopped = !mayLook && listing.more && lastSeen >= rows.length - AHEAD;
  const keys = useMemo(() => {
    const at = rows.findIndex(({ conversation_id }) => conversation_id === open);
    const go = (index: number): void => {
      const row = rows[index];
      if (row === undefined) return;
      goTo(row.conversation_id);
      virtual.scrollToIndex(index);
    };
    return {
      j: () => go(at + 1),
      k: () => go(Math.max(0, at - 1)),
      r: () => document.getElementById("composer")?.focus(),
      "/": () => document.getElementById("search")?.focus(),
      Escape: () => (open !== null && details ? showDetails(false) : goTo(null)),
    };
  }, [rows, open, virtual, details, showDetails]);
  useKeys(keys);
  const isEmpty = rows.length === 0 && listing.asked && !listing.reading;
  return (
    <nav className={styles["list"]} aria-label={texts.list.label}>
      <div className={styles["filters"]}>
        <TextInput
          id="search"
          type="search"
          size="sm"
          radius="md"
          aria-label={texts.search.label}
          placeholder={texts.search.placeholder}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
        {words.trim() === "" && (
          <Filters
            chosen={filter}
            onChoose={(chosen) => {
              setFilter(chosen);
              setUpTo(UNASKED);
            }}
          />
        )}
      </div>
      {words.trim() !== "" && <SearchResults words={words.trim()} open={open} />}
      <div className={styles["scroll"]} ref={frame} tabIndex={-1} hidden={words.trim() !== ""}>
        <div role="list" className={styles["tall"]} style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rows[index];
            return (
              row && (
                <div key={row.conversation_id} role="listitem" className={styles["placed"]} style={{ transform: `translateY(${start}px)`, height: ROW_HEIGHT }}>
                  <ConversationRow conversation={row} isOpen={row.conversation_id === open} me={store.me.user_id} />
                </div>
              )
            );
          })}
        </div>
        {hasStopped && (
          <div className={styles["looked"]}>
            {texts.list.looked(listing.looked)}
            <Button size="compact-xs" variant="light" loading={listing.reading} onClick={() => setUpTo(listing.looked + UNASKED)}>
              {texts.list.lookFurther}
            </Button>
          </div>
        )}
        {isEmpty && !hasStopped && <Text className={styles["empty"]}>{texts.list.empty[filter]}</Text>}
        {listing.failed && (
          <div className={styles["empty"]}>
            <Text mb="xs">{texts.list.failed}</Text>
            <Button size="compact-sm" variant="light" onClick={() => void store.list(source)}>
              {texts.list.again}
            </Button>
          </div>
        )}
      </div>
    </nav>
  );
}
