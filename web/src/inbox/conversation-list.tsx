/** The conversations, the latest first; only those that can be seen are drawn. */

import { Button, SegmentedControl, Text, TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";

import { byActivity } from "../live/changes";
import { belongs, FILTERS, type Filter } from "../live/filters";
import { useDesk, useShown } from "../live/use-desk";
import { texts } from "../texts";
import { ConversationRow } from "./conversation-row";
import styles from "./inbox.module.css";
import { useKeys } from "./keys";
import { goTo } from "./path";
import { SearchResults } from "./search-results";

const ROW_HEIGHT = 76;
/** Rows from the end at which the next page is read. */
const AHEAD = 10;
const CHOICES = FILTERS.map((value) => ({ value, label: texts.list.filters[value] }));

export function ConversationList({ open }: { readonly open: string | null }) {
  const desk = useDesk();
  const [words, setWords] = useState("");
  const [filter, setFilter] = useState<Filter>("all");
  const conversations = useShown((shown) => shown.conversations);
  const listing = useShown((shown) => shown.lists[filter]);
  const isRead = useShown((shown) => shown.lists.all.asked);
  const rows = useMemo(
    () => [...conversations.values()].filter((row) => belongs(row, filter, desk.me.user_id)).sort(byActivity),
    [conversations, filter, desk],
  );
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rows[index]?.conversation_id ?? index,
    overscan: 6,
  });
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (isRead && listing.more && !listing.failed && lastSeen >= rows.length - AHEAD) void desk.list(filter);
  }, [desk, filter, isRead, listing, lastSeen, rows.length]);
  const deeds = useMemo(() => {
    const at = rows.findIndex(({ conversation_id }) => conversation_id === open);
    const go = (index: number): void => {
      const row = rows[index];
      if (row === undefined) return;
      goTo(row.conversation_id);
      virtual.scrollToIndex(index);
    };
    return {
      next: () => go(at + 1),
      previous: () => go(Math.max(0, at - 1)),
      answer: () => document.getElementById("composer")?.focus(),
      search: () => document.getElementById("search")?.focus(),
      leave: () => goTo(null),
    };
  }, [rows, open, virtual]);
  useKeys(deeds);
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
        <SegmentedControl
          hidden={words.trim() !== ""}
          fullWidth
          size="xs"
          radius="md"
          data={CHOICES}
          value={filter}
          onChange={(chosen) => setFilter(chosen as Filter)}
          aria-label={texts.list.filtersLabel}
          transitionDuration={0}
        />
      </div>
      {words.trim() !== "" && <SearchResults words={words.trim()} open={open} />}
      <div className={styles["scroll"]} ref={frame} tabIndex={-1} hidden={words.trim() !== ""}>
        <div role="list" className={styles["tall"]} style={{ height: virtual.getTotalSize() }}>
          {items.map(({ key, index, start }) => {
            const row = rows[index];
            return (
              row && (
                <div key={key} role="listitem" className={styles["placed"]} style={{ transform: `translateY(${start}px)`, height: ROW_HEIGHT }}>
                  <ConversationRow conversation={row} isOpen={row.conversation_id === open} me={desk.me.user_id} />
                </div>
              )
            );
          })}
        </div>
        {isEmpty && <Text className={styles["empty"]}>{texts.list.empty[filter]}</Text>}
        {listing.failed && (
          <div className={styles["empty"]}>
            <Text mb="xs">{texts.list.failed}</Text>
            <Button size="compact-sm" variant="light" onClick={() => void desk.list(filter)}>
              {texts.list.again}
            </Button>
          </div>
        )}
      </div>
    </nav>
  );
}
