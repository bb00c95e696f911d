/** Every part of the machine, and how it is. */

import { Panel, Status, Table, type Mood } from "../kit";
import { troubles, type Part } from "./figures";
import { texts } from "./texts";

const { parts: said } = texts;
const MOODS: Readonly<Record<Part["state"], Mood>> = { ok: "good", trouble: "bad", off: "calm" };

const COLUMNS = [
  { head: said.part, cell: ({ name }: Part) => said.names[name] ?? name },
  { head: said.state, cell: ({ state }: Part) => <Status mood={MOODS[state]}>{said.states[state]}</Status> },
  { head: said.detail, cell: ({ detail }: Part) => detail, wide: true },
];

export function Parts({ parts }: { readonly parts: readonly Part[] }) {
  const bad = troubles(parts);
  return (
    <Panel title={said.title} actions={<Status mood={bad === 0 ? "good" : "bad"}>{bad === 0 ? said.allWell : said.trouble(bad)}</Status>}>
      <Table label={said.title} columns={COLUMNS} rows={parts} keyOf={({ name }) => name} />
    </Panel>
  );
}
