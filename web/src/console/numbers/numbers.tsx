/** Numbers: their health and limits, and connecting a new one. */

import { Button } from "@mantine/core";
import { useState } from "react";

import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery } from "../api";
import { QueryTable, Curl, ActionButton, Page, type Column } from "../kit";
import { words as frame } from "../texts";
import { EditNumber } from "./edit";
import { healthOf, type Gate, type Number_ } from "./health";
import { HealthCell } from "./health-cell";
import { Mailboxes } from "./mailboxes";
import styles from "./numbers.module.css";
import { trial, words } from "./texts";
import type { Trial } from "./trial";
import { TryNumberDialog } from "./try-number";
import { ConnectWizard } from "./wizard";

const EVERY_MS = 5_000;
const idOf = ({ phone_number_id }: Number_): string => phone_number_id;

export default function Numbers() {
  const { me } = useInboxStore();
  const listing = call("get", "/api/v1/numbers");
  const numbers = useApiQuery(listing, { everyMs: EVERY_MS });
  const gates = useApiQuery(call("get", "/api/v1/outbound/gates"), { everyMs: EVERY_MS }).data?.content ?? [];
  const [isConnecting, setConnecting] = useState(false);
  const [editing, setEditing] = useState<Number_ | null>(null);
  const [trying, setTrying] = useState<string | null>(null);
  const [trials, setTrials] = useState<Trials>({});
  const keep = (trial: Trial) => setTrials((before) => ({ ...before, [trial.phone_number_id]: trial }));
  return (
    <Page
      title={frame.pages.numbers}
      intro={words.intro}
      actions={
        <>
          <Curl call={listing} cli={`waypost admin numbers ${me.org_id}`} />
          {!isConnecting && (
            <Button size="compact-sm" onClick={() => setConnecting(true)}>
              {words.connect}
            </Button>
          )}
        </>
      }
    >
      {isConnecting && <ConnectWizard onTried={keep} onClose={() => setConnecting(false)} />}
      <QueryTable
        query={numbers}
        rowsOf={(all) => all}
        label={words.label}
        columns={columnsFor(gates, trials, setEditing, setTrying)}
        keyOf={idOf}
        empty={words.none}
      />
      <Mailboxes gates={gates} />
      {trying !== null && <TryNumberDialog id={trying} onTried={keep} onClose={() => setTrying(null)} />}
      {editing !== null && (
        <EditNumber number={editing} others={(numbers.data ?? []).filter((other) => idOf(other) !== idOf(editing))} onClose={() => setEditing(null)} />
      )}
    </Page>
  );
}

/** The latest trial of each number in this session; the server stores only successful ones. */
type Trials = Readonly<Record<string, Trial>>;

function columnsFor(gates: readonly Gate[], trials: Trials, edit: (number: Number_) => void, trying: (id: string) => void): readonly Column<Number_>[] {
  const { columns } = words;
  return [
    { head: columns.id, cell: ({ phone_number_id, waba_id }) => <Two first={phone_number_id} second={words.accountOf(waba_id)} /> },
    { head: columns.health, cell: (number) => <HealthCell health={healthOf(number, gates, trials[idOf(number)])} />, wide: true },
    { head: columns.limits, cell: ({ pace, tier }) => <Two first={words.paceOf(pace)} second={tier === null ? words.noTier : words.tierOf(tier)} /> },
    { head: columns.failover, cell: ({ failover }) => <div className={styles["failover"]}>{failover === null ? words.noFailover : words.failoverTo(failover)}</div> },
    { head: columns.actions, cell: (number) => <RowActions number={number} onEdit={() => edit(number)} onTry={() => trying(idOf(number))} /> },
  ];
}

const Two = ({ first, second }: { readonly first: string; readonly second: string }) => (
  <div className={styles["two"]}>
    {first}
    <span>{second}</span>
  </div>
);

function RowActions({ number, onEdit, onTry }: { readonly number: Number_; readonly onEdit: () => void; readonly onTry: () => void }) {
  const { me } = useInboxStore();
  const { phone_number_id: id, enabled } = number;
  const path = { phone_number_id: id };
  return (
    <div className={styles["actions"]}>
      <Button size="compact-sm" variant="default" onClick={onTry}>
        {trial.button}
      </Button>
      <Button size="compact-sm" variant="default" onClick={onEdit}>
        {words.edit}
      </Button>
      <ActionButton
        label={enabled ? words.disable : words.enable}
        title={enabled ? words.disableTitle(id) : words.enableTitle(id)}
        call={call("patch", "/api/v1/numbers/{phone_number_id}", { path, body: { enabled: !enabled } })}
        cli={`waypost admin enable ${me.org_id} ${id}${enabled ? " --off" : ""}`}
        done={enabled ? words.wasDisabled : words.enabled}
      >
        {enabled ? words.disableText : words.enableText}
      </ActionButton>
      <ActionButton
        label={words.disconnect}
        title={words.disconnectTitle(id)}
        call={call("delete", "/api/v1/numbers/{phone_number_id}", { path })}
        cli={`waypost admin disconnect ${me.org_id} ${id}`}
        danger
        done={words.disconnected}
      >
        {words.disconnectText}
      </ActionButton>
    </div>
  );
}
