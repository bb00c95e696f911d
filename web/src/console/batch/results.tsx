/** The lines of the file with their results. */

import { SegmentedControl } from "@mantine/core";
import { useState } from "react";

import { linkTo } from "../../path";
import { Panel, Status, Table, type Column } from "../kit";
import { summaryOf } from "../message/model";
import styles from "./batch.module.css";
import type { Checked } from "./check";
import type { Row } from "./csv";
import type { Outcome } from "./run";
import { words } from "./texts";

const SHOWN = 100;

type Which = keyof typeof words.show;

interface Props {
  readonly checked: readonly Checked[];
  readonly outcomes: ReadonlyMap<number, Outcome>;
}

export function Lines({ checked, outcomes }: Props) {
  const isBad = (line: Checked): boolean => line.refused !== null || outcomes.get(line.row.number)?.kind === "refused";
  const [which, setWhich] = useState<Which>(() => (checked.some(isBad) ? "refused" : "all"));
  const kept: Readonly<Record<Which, (line: Checked) => boolean>> = { all: () => true, refused: isBad, doubt: ({ doubt }) => doubt !== null };
  const found = checked.filter(kept[which]);
  return (
    <Panel
      title={words.results}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={words.showLabel}
          value={which}
          data={Object.entries(words.show).map(([value, label]) => ({ value, label }))}
          transitionDuration={0}
          onChange={(chosen) => setWhich(chosen as Which)}
        />
      }
    >
      <Table label={words.results} columns={columnsFor(outcomes)} rows={found.slice(0, SHOWN)} keyOf={({ row }) => row.number} empty={words.noLines} />
      {found.length > SHOWN && <p className={styles["text"]}>{words.more(found.length - SHOWN)}</p>}
    </Panel>
  );
}

function columnsFor(outcomes: Props["outcomes"]): readonly Column<Checked>[] {
  return [
    { head: words.line, cell: ({ row }) => row.number, align: "right" },
    { head: words.to, cell: ({ row }) => row.cells["to"] ?? "" },
    { head: words.what, cell: ({ row }) => contentOf(row), wide: true },
    { head: words.verdict, cell: (line) => <Verdict line={line} outcome={outcomes.get(line.row.number)} />, wide: true },
  ];
}

function contentOf({ cells }: Row): string {
  const payload = cells["payloadJson"];
  if (payload !== undefined) return payload.slice(0, 140);
  return summaryOf({ templateCode: cells["templateCode"] ?? null, subject: cells["subject"] ?? null, payloadJson: { text: cells["text"] ?? "" } });
}

function Verdict({ line: { refused, doubt }, outcome }: { readonly line: Checked; readonly outcome: Outcome | undefined }) {
  if (refused !== null) return <Status mood="bad">{refused}</Status>;
  if (outcome === undefined) return <Status mood={doubt === null ? "calm" : "busy"}>{doubt ?? words.ok}</Status>;
  if (outcome.kind === "refused") return <Status mood="bad">{outcome.reason}</Status>;
  return (
    <Status mood="good">
      <a {...linkTo(`/console/outbox/${outcome.id}`)}>{outcome.kind === "stored" ? words.stays(outcome.id) : words.wasThere(outcome.id)}</a>
    </Status>
  );
}
