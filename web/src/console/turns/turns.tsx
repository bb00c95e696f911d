/** Active and failed bot turns. */

import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery } from "../api";
import { QueryTable, Copyable, Curl, ActionButton, Moment, Page, Panel, Status, type Column } from "../kit";
import { useMay } from "../roles";
import { words } from "../texts";
import { floorOf, nameIn, stateOf, type FailedTurn, type Turn } from "./turn-text";
import { texts } from "./texts";

const EVERY_MS = 3_000;
const { open, failed } = texts;

const OPEN: readonly Column<Turn>[] = [
  { head: open.customer, cell: nameIn },
  { head: open.state, cell: (turn) => <TurnState turn={turn} /> },
  { head: open.since, cell: ({ since }) => <Moment at={since} /> },
  { head: open.worker, cell: ({ owner }) => (owner === null ? words.none : <Copyable text={owner} />) },
  { head: open.waiting, cell: ({ waiting }) => waiting, align: "right" },
  { head: open.attempts, cell: ({ attempts }) => attempts, align: "right" },
  { head: open.floor, cell: ({ floor }) => floorOf(floor) },
];

function TurnState({ turn }: { readonly turn: Turn }) {
  const state = stateOf(turn, Date.now());
  return <Status mood={state === "thinks" ? "good" : "busy"}>{open[state]}</Status>;
}

export default function Turns() {
  const request = call("get", "/api/v1/turns");
  const result = useApiQuery(request, { everyMs: EVERY_MS });
  const { org_id } = useInboxStore().me;
  return (
    <Page title={words.pages.turns} intro={texts.intro} actions={<Curl call={request} cli={`waypost turns ${org_id}`} />}>
      <Panel title={open.title}>
        <QueryTable
          query={result}
          rowsOf={({ turns }) => turns}
          label={open.title}
          columns={OPEN}
          keyOf={({ conversation_id }) => conversation_id}
          linkOf={({ conversation_id }) => `/inbox/${conversation_id}`}
          empty={open.empty}
        />
      </Panel>
      <Panel title={failed.title}>
        <QueryTable
          query={result}
          rowsOf={({ failed }) => failed}
          label={failed.title}
          columns={FAILED}
          keyOf={({ conversation_id, position }) => `${conversation_id}/${position}`}
          linkOf={({ conversation_id }) => `/inbox/${conversation_id}`}
          empty={failed.empty}
        />
      </Panel>
    </Page>
  );
}

const FAILED: readonly Column<FailedTurn>[] = [
  { head: open.customer, cell: nameIn },
  { head: failed.error, cell: ({ error }) => error ?? failed.unknownError, wide: true },
  { head: open.attempts, cell: ({ attempts }) => attempts, align: "right" },
  { head: open.since, cell: ({ since }) => <Moment at={since} /> },
  { head: failed.ended, cell: ({ ended }) => <Moment at={ended} /> },
  { head: "", cell: (turn) => <Replay turn={turn} /> },
];

function Replay({ turn }: { readonly turn: FailedTurn }) {
  const { org_id } = useInboxStore().me;
  const { conversation_id, position } = turn;
  if (!useMay("sender")) return null;
  return (
    <ActionButton
      label={failed.replay}
      title={failed.question(nameIn(turn))}
      call={call("post", "/api/v1/turns/{conversation_id}/{position}/replay", { path: { conversation_id, position: String(position) } })}
      cli={`waypost admin replay-turn ${org_id} ${conversation_id} ${position}`}
      done={failed.done}
    >
      {failed.what}
    </ActionButton>
  );
}
