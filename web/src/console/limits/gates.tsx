/** Closed gates, with their waiting messages and a release action. */

import type { components } from "../../api/schema";
import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery } from "../api";
import { QueryTable, Curl, ActionButton, Marked, Moment, Panel, Status, type Column, type Mood } from "../kit";
import { useMay } from "../roles";
import styles from "./limits.module.css";
import { texts } from "./texts";

type Gate = components["schemas"]["GateView"];

const EVERY_MS = 5_000;
const COUNTED = 10_000;
const { gates } = texts;
const MOODS: Readonly<Record<string, Mood>> = { throttle: "busy", breaker: "bad", hold: "bad", disabled: "calm" };
const DISABLED = "NUMBER_DISABLED";

/** The scope of a gate: `number:106540352242922` becomes "Number 106540352242922". */
function called({ name }: Gate): string {
  const [scope = "", ...rest] = name.split(":");
  return scope === "org" ? (gates.scopes["org"] ?? name) : `${gates.scopes[scope] ?? scope} ${rest.join(":")}`;
}

const COLUMNS: readonly Column<Gate>[] = [
  { head: gates.kind, cell: ({ kind }) => <Status mood={MOODS[kind] ?? "busy"}>{gates.kinds[kind] ?? kind}</Status> },
  { head: gates.name, cell: (gate) => <span className={styles["name"]}>{called(gate)}</span> },
  { head: gates.reason, cell: (gate) => <Reason gate={gate} />, wide: true },
  { head: gates.waiting, cell: ({ waiting }) => (waiting >= COUNTED ? gates.many(waiting.toLocaleString()) : waiting.toLocaleString()), align: "right" },
  { head: gates.since, cell: ({ since }) => <Moment at={since} /> },
  { head: gates.until, cell: ({ until }) => (until === null ? gates.byHand : <Moment at={until} />) },
  { head: "", cell: (gate) => <Release gate={gate} /> },
];

const Reason = ({ gate: { code, reason, remedy } }: { readonly gate: Gate }) => (
  <>
    {reason} <span className={styles["code"]}>{code}</span>
    {remedy !== null && (
      <div className={styles["remedy"]}>
        <strong>{gates.remedy}:</strong> <Marked text={remedy} />
      </div>
    )}
  </>
);

function Release({ gate }: { readonly gate: Gate }) {
  const { org_id } = useInboxStore().me;
  if (!useMay("admin")) return null;
  if (gate.code === DISABLED) return <span className={styles["soft"]}>{gates.number}</span>;
  return (
    <ActionButton
      label={gates.release}
      title={gates.question(called(gate))}
      call={call("post", "/api/v1/outbound/gates/{gate_id}/release", { path: { gate_id: gate.id } })}
      cli={`waypost admin release ${org_id} ${gate.id}`}
      done={gates.done}
    >
      {gates.what}
    </ActionButton>
  );
}

export function Gates() {
  const { org_id } = useInboxStore().me;
  const request = call("get", "/api/v1/outbound/gates");
  const result = useApiQuery(request, { everyMs: EVERY_MS });
  return (
    <Panel title={gates.title} intro={gates.intro} actions={<Curl call={request} cli={`waypost admin gates ${org_id}`} />}>
      <QueryTable query={result} rowsOf={({ content }) => content} label={gates.title} columns={COLUMNS} keyOf={({ id }) => id} empty={gates.empty} />
    </Panel>
  );
}
