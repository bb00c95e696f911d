/** Who did what; filters are in the address. */

import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";

import { useDesk } from "../../live/use-desk";
import { go, linkTo, useAddress } from "../../path";
import { call, useAnswer } from "../api";
import { quoted } from "../curl";
import { AnswerTable, Curl, Moment, Page, Toolbar, type Column } from "../kit";
import { words as frame } from "../texts";
import styles from "./audit.module.css";
import { saidOf } from "./details";
import { addressOf, linkOf, sentenceOf, TYPES, wantedIn, type Entry, type Wanted } from "./entries";
import { words } from "./texts";

const SIZE = 50;
const MOST = 1_000;
const EVERY_MS = 10_000;
const LONG = 60;

export default function Audit() {
  const { me } = useDesk();
  const search = useAddress((address) => address.search);
  const wanted = wantedIn(search);
  const [limit, setLimit] = useState(SIZE);
  const trail = call("get", "/api/v1/outbound/audit", { query: { entityType: wanted.type, entityId: wanted.id, limit } });
  const answer = useAnswer(trail, { everyMs: EVERY_MS, keep: true });
  const named = useNames();
  return (
    <Page title={frame.pages.audit} intro={words.intro} actions={<Curl call={trail} cli={cliFor(me.org_id, wanted)} />}>
      <Filter key={search} wanted={wanted} />
      <AnswerTable
        to={answer}
        rowsOf={({ content }) => content}
        label={words.label}
        columns={columnsFor(named)}
        keyOf={({ id }) => id}
        empty={wanted.type === "" ? words.none : words.noneFiltered}
      />
      {(answer.data?.content.length ?? 0) >= limit && limit < MOST && (
        <Button variant="default" className={styles["more"] ?? ""} onClick={() => setLimit((now) => Math.min(MOST, now * 4))}>
          {words.older}
        </Button>
      )}
    </Page>
  );
}

const cliFor = (org: string, { type, id }: Wanted): string =>
  `waypost admin audit ${org}${type === "" ? "" : ` --entity-type ${type}`}${id === "" ? "" : ` --entity-id ${quoted(id)}`}`;

/** Of people, their names. */
function useNames(): (actor: string) => string {
  const { me } = useDesk();
  const people = useAnswer(call("get", "/api/v1/team")).data?.people ?? [];
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
    { head: words.columns.details, cell: (entry) => <Details said={saidOf(entry, named)} text={entry.details} />, wide: true },
  ];
}

function What({ entry }: { readonly entry: Entry }) {
  const link = linkOf(entry);
  const said = sentenceOf(entry);
  return link === null ? <>{said}</> : <a {...linkTo(link)}>{said}</a>;
}

function Details({ said, text }: { readonly said: string | null; readonly text: string }) {
  if (said !== null) {
    return (
      <>
        {said}
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
