/** The audit log; its filters are in the URL. */

import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";

import { useInboxStore } from "../../live/use-inbox-store";
import { go, linkTo, useAddress } from "../../path";
import { call, useApiQuery } from "../api";
import { quoted } from "../curl";
import { QueryTable, Curl, Moment, Page, Toolbar, type Column } from "../kit";
import { words as frame } from "../texts";
import styles from "./audit.module.css";
import { describeDetails } from "./details";
import { addressOf, linkOf, sentenceOf, TYPES, wantedIn, type Entry, type Wanted } from "./entries";
import { words } from "./texts";

const SIZE = 50;
const MOST = 1_000;
const EVERY_MS = 10_000;
const LONG = 60;

export default function Audit() {
  const { me } = useInboxStore();
  const search = useAddress((address) => address.search);
  const wanted = wantedIn(search);
  const [limit, setLimit] = useState(SIZE);
  const trail = call("get", "/api/v1/outbound/audit", { query: { entityType: wanted.type, entityId: wanted.id, limit } });
  const result = useApiQuery(trail, { everyMs: EVERY_MS, keep: true });
  const named = useNames();
  return (
    <Page title={frame.pages.audit} intro={words.intro} actions={<Curl call={trail} cli={cliFor(me.org_id, wanted)} />}>
      <Filter key={search} wanted={wanted} />
      <QueryTable
        query={result}
        rowsOf={({ content }) => content}
        label={words.label}
        columns={columnsFor(named)}
        keyOf={({ id }) => id}
        empty={wanted.type === "" ? words.none : words.noneFiltered}
      />
      {(result.data?.content.length ?? 0) >= limit && limit < MOST && (
        <Button variant="default" className={styles["more"] ?? ""} onClick={() => setLimit((now) => Math.min(MOST, now * 4))}>
          {words.older}
        </Button>
      )}
    </Page>
  );
}

const cliFor = (org: string, { type, id }: Wanted): string =>
  `waypost admin audit ${org}${type === "" ? "" : ` --entity-type ${type}`}${id === "" ? "" : ` --entity-id ${quoted(id)}`}`;

/** Display names for actors. */
function useNames(): (actor: string) => string {
  const { me } = useInboxStore();
  const people = useApiQuery(call("get", "/api/v1/team")).data?.people ?? [];
  return (actor) => {
    if (actor === me.user_id) return `${me.name} (${words.you})`;
    return people.find(({ user_id }) => user_id === actor)?.name ?? words.actors[actor] ?? actor;
  };
}

function columnsFor(named: (actor: string) => string): readonly Column<Entry>[] {
  return [
    { head: words.columns.at, cell: ({ at }) => <Moment at={at} /> },
    { head: words.columns.what, cell: (entry) => <What entry={entry} /> },
    { head: words.columns.who, cell: ({ actor }) => <span className={styles["who"]} title={actor}>{named(actor)}</span> },
    { head: words.columns.details, cell: (entry) => <Details summary={describeDetails(entry, named)} text={entry.details} />, wide: true },
  ];
}

function What({ entry }: { readonly entry: Entry }) {
  const link = linkOf(entry);
  const sentence = sentenceOf(entry);
  return link === null ? <>{sentence}</> : <a {...linkTo(link)}>{sentence}</a>;
}

function Details({ summary, text }: { readonly summary: string | null; readonly text: string }) {
  if (summary !== null) {
    return (
      <>
        {summary}
        <details className={styles["details"]}>
          <summary>{words.raw}</summary>
          {text}
        </details>
      </>
    );
  }
  if (text.length <= LONG) return <>{text}</>;
  return (
    <details className={styles["details"]}>
      <summary>{`${text.slice(0, LONG)}…`}</summary>
      {text}
    </details>
  );
}

function Filter({ wanted }: { readonly wanted: Wanted }) {
  const [type, setType] = useState(wanted.type);
  const [id, setId] = useState(wanted.id);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        go(addressOf({ type, id: id.trim() }));
      }}
    >
      <Toolbar label={words.filters}>
        <NativeSelect
          label={words.type}
          value={type}
          data={[{ value: "", label: words.any }, ...TYPES.map((each) => ({ value: each, label: words.types[each] ?? each }))]}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            setType(chosen);
            go(addressOf({ type: chosen, id: "" }));
          }}
        />
        <TextInput label={words.id} title={words.idHint} value={id} disabled={type === ""} onChange={(event) => setId(event.currentTarget.value)} />
        <Button type="submit" variant="default" disabled={type === ""}>
          {words.search}
        </Button>
        {wanted.type !== "" && (
          <Button variant="subtle" component="a" {...linkTo("/console/audit")}>
            {words.clear}
          </Button>
        )}
      </Toolbar>
    </form>
  );
}
