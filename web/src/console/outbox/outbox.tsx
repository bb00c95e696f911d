/** The outbox, newest first; filters and pages are in the URL. */

import { Button, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

import { useInboxStore } from "../../live/use-inbox-store";
import { go, linkTo, useAddress } from "../../path";
import { call, useApiQuery } from "../api";
import { QueryTable, Curl, MessageStatus, Moment, Page, Toolbar, type Column } from "../kit";
import { comesFrom, statusOf, summaryOf, type OutboundMessage } from "../message/model";
import { words as frame } from "../texts";
import { addressOf, cliOf, filtersIn, heldRows, isFiltered, STATUSES, type Filters } from "./filters";
import styles from "./outbox.module.css";
import { words } from "./texts";
import { WaitReason } from "./wait-reason-cell";

const SIZE = 50;
const EVERY_MS = 3_000;
const COUNTS_EVERY_MS = 10_000;

const COLUMNS: readonly Column<OutboundMessage>[] = [
  { head: words.columns.id, cell: ({ id }) => id },
  { head: words.columns.to, cell: ({ to }) => to },
  { head: words.columns.what, cell: (message) => <span className={styles["what"]}>{summaryOf(message)}</span>, wide: true },
  { head: words.columns.status, cell: (message) => <MessageStatus status={statusOf(message)} /> },
  { head: words.columns.why, cell: (message) => <WaitReason message={message} /> },
  { head: words.columns.tries, cell: ({ attemptCount, maxAttempts }) => words.triesOf(attemptCount, maxAttempts + 1), align: "right" },
  { head: words.columns.age, cell: ({ createdAt }) => <Moment at={createdAt} /> },
];

export default function Outbox() {
  const { me } = useInboxStore();
  const search = useAddress((address) => address.search);
  const filters = filtersIn(search);
  const { status, to, dossier, before } = filters;
  const listing = call("get", "/api/v1/outbound/messages", { query: { status, to, dossierId: dossier, before, limit: SIZE + 1 } });
  const result = useApiQuery(listing, { everyMs: EVERY_MS, keep: true });
  useEffect(() => comesFrom(addressOf(filtersIn(search))), [search]);
  const held = useHeld(result.data, search);
  const frameRef = useFromTheTop(before);
  const last = result.data?.[SIZE - 1];
  return (
    <Page title={frame.pages.outbox} intro={words.intro} actions={<Curl call={listing} cli={cliOf(me.org_id, filters)} />}>
      <Statuses filters={filters} />
      <Search key={search} filters={filters} />
      {held.fresh > 0 && (
        <Button size="compact-sm" variant="light" className={styles["fresh"] ?? ""} onClick={held.release}>
          {words.fresh(held.fresh)}
        </Button>
      )}
      <div
        ref={frameRef}
        onPointerEnter={held.hold}
        onPointerLeave={held.release}
        onFocus={held.hold}
        onBlur={({ currentTarget, relatedTarget }) => !currentTarget.contains(relatedTarget) && held.release()}
      >
        <QueryTable
          query={result}
          rowsOf={(all) => heldRows(all.slice(0, SIZE), held.top).rows}
          label={words.label}
          columns={COLUMNS}
          keyOf={({ id }) => id}
          linkOf={({ id }) => `/console/outbox/${id}`}
          empty={isFiltered(filters) ? words.emptyFiltered : words.empty}
        />
      </div>
      <Paging filters={filters} last={result.data !== undefined && result.data.length > SIZE ? (last?.id ?? null) : null} />
    </Page>
  );
}

/** While the pointer is on the list, new rows are held back, so that rows do not move. */
function useHeld(rows: readonly OutboundMessage[] | undefined, search: string) {
  const [top, setTop] = useState<number | null>(null);
  useEffect(() => setTop(null), [search]);
  const newest = rows?.[0]?.id ?? null;
  return {
    top,
    fresh: heldRows(rows?.slice(0, SIZE) ?? [], top).fresh,
    hold: () => setTop((held) => held ?? newest),
    release: () => setTop(null),
  };
}

/** Scrolls to the top when the page changes. */
function useFromTheTop(before: number | null) {
  const frame = useRef<HTMLDivElement>(null);
  const shown = useRef(before);
  useEffect(() => {
    if (shown.current !== before) frame.current?.closest("main")?.scrollTo(0, 0);
    shown.current = before;
  }, [before]);
  return frame;
}

function Statuses({ filters }: { readonly filters: Filters }) {
  const counts = useApiQuery(call("get", "/api/v1/outbound/stats"), { everyMs: COUNTS_EVERY_MS }).data?.counts ?? {};
  return (
    <nav className={styles["statuses"]} aria-label={words.statuses}>
      {[null, ...STATUSES].map((status) => (
        <a key={status ?? ""} aria-current={filters.status === status ? "true" : undefined} {...linkTo(addressOf({ ...filters, status, before: null }))}>
          {status === null ? words.all : (frame.status[status] ?? status)}
          {status !== null && counts[status] !== undefined && <span>{counted(counts[status])}</span>}
        </a>
      ))}
    </nav>
  );
}

const MOST_COUNTED = 100_000;
const counted = (count: number): string => (count >= MOST_COUNTED ? words.many : count.toLocaleString());

function Search({ filters }: { readonly filters: Filters }) {
  const [to, setTo] = useState(filters.to);
  const [dossier, setDossier] = useState(filters.dossier === null ? "" : String(filters.dossier));
  const { dossier: dossierNumber } = filtersIn(`?${new URLSearchParams({ dossier: dossier.trim() }).toString()}`);
  const isWrong = dossier.trim() !== "" && dossierNumber === null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!isWrong) go(addressOf({ status: filters.status, to: to.trim(), dossier: dossierNumber }));
      }}
    >
      <Toolbar label={words.filters}>
        <TextInput label={words.to} placeholder="+15550001111" title={words.toHint} value={to} onChange={(event) => setTo(event.currentTarget.value)} />
        <TextInput
          label={words.dossier}
          inputMode="numeric"
          className={styles["dossier"] ?? ""}
          title={words.dossierHint}
          value={dossier}
          onChange={(event) => setDossier(event.currentTarget.value)}
          error={isWrong && words.dossierWrong}
        />
        <Button type="submit" variant="default">
          {words.search}
        </Button>
        {isFiltered(filters) && (
          <Button variant="subtle" component="a" {...linkTo("/console/outbox")}>
            {words.clear}
          </Button>
        )}
      </Toolbar>
    </form>
  );
}

function Paging({ filters, last }: { readonly filters: Filters; readonly last: number | null }) {
  if (last === null && filters.before === null) return null;
  return (
    <nav className={styles["paging"]} aria-label={words.paging}>
      {filters.before !== null && (
        <Button variant="default" size="compact-md" component="a" {...linkTo(addressOf({ ...filters, before: null }))}>
          {words.newest}
        </Button>
      )}
      {last !== null && (
        <Button variant="default" size="compact-md" component="a" {...linkTo(addressOf({ ...filters, before: last }))}>
          {words.older}
        </Button>
      )}
    </nav>
  );
}
