/** The attempts of a message, with the provider's responses. */

import { lasting, Moment, Panel, Status, Table, Verbatim, type Column, type Mood } from "../kit";
import styles from "./message.module.css";
import { providerMessage, type Attempt } from "./model";
import { words } from "./texts";

const MOODS: Readonly<Record<string, Mood>> = { TRYING: "busy", SUCCESS: "good", FAILED: "bad", UNSURE: "busy" };
const { attempt: heads } = words;

const COLUMNS: readonly Column<Attempt>[] = [
  { head: heads.number, cell: ({ attemptNo, generation }) => `${attemptNo}${heads.generation(generation)}` },
  { head: heads.status, cell: ({ status }) => <Status mood={MOODS[status] ?? "calm"}>{words.attemptStatus[status] ?? status}</Status> },
  { head: heads.at, cell: ({ createdAt }) => <Moment at={createdAt} /> },
  { head: heads.took, cell: ({ createdAt, finishedAt }) => (finishedAt === null ? "" : lasting((Date.parse(finishedAt) - Date.parse(createdAt)) / 1000)), align: "right" },
  { head: heads.error, cell: ({ errorCode, errorMessage }) => [errorCode, providerMessage(errorCode, errorMessage)].filter(Boolean).join(": "), wide: true },
  { head: heads.answer, cell: ({ providerResponseJson }) => <Folded json={providerResponseJson} />, wide: true },
];

export function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  return (
    <Panel title={words.attempts}>
      <Table label={words.attempts} columns={COLUMNS} rows={attempts} keyOf={({ id }) => id} empty={words.noAttempts} />
    </Panel>
  );
}

/** JSON, or the raw response; always rendered as text. */
function Folded({ json }: { readonly json: unknown }) {
  if (json === null || json === undefined) return null;
  return (
    <details className={styles["folded"]}>
      <summary>{heads.show}</summary>
      <Verbatim>{typeof json === "string" ? json : JSON.stringify(json, null, 2)}</Verbatim>
    </details>
  );
}
