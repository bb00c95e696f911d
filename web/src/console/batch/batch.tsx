/** Sends messages from a file: each line is checked before anything is sent. */

import { useMemo, useState } from "react";

import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery } from "../api";
import { quoted } from "../curl";
import { Curl, Page } from "../kit";
import { useMay } from "../roles";
import { words as frame } from "../texts";
import { checkRows, type OrgData } from "./check";
import { Choose, type Taken } from "./choose";
import { setCurrent, useCurrent } from "./current";
import { Preflight } from "./preflight";
import { BatchProgress } from "./progress";
import { words } from "./texts";

/** The curl example: two messages. */
const EXAMPLE = call("post", "/api/v1/outbound/messages/batch", {
  body: {
    messages: [
      { channel: "WHATSAPP", to: "+15550001111", payloadJson: { text: "Your order is on its way" }, idempotencyKey: "order-7" },
      { channel: "WHATSAPP", to: "+15550002222", payloadJson: { text: "Your order is on its way" }, idempotencyKey: "order-8" },
    ] as never,
  },
});

export default function Batch() {
  const { me } = useInboxStore();
  const run = useCurrent();
  const [taken, setTaken] = useState<Taken | null>(null);
  const command = `waypost send ${me.org_id} --csv ${quoted(run?.name ?? taken?.name ?? "orders.csv")}`;
  return (
    <Page title={frame.pages.batch} intro={words.intro} actions={<Curl call={EXAMPLE} cli={`${command} --dry-run\n${command}`} />}>
      {run !== null ? (
        <BatchProgress
          run={run}
          onAnother={() => {
            setCurrent(null);
            setTaken(null);
          }}
        />
      ) : taken === null ? (
        <Choose onTaken={setTaken} />
      ) : (
        <Checking taken={taken} onAnother={() => setTaken(null)} />
      )}
    </Page>
  );
}

function Checking({ taken, onAnother }: { readonly taken: Taken; readonly onAnother: () => void }) {
  const { known, isSettled } = useOrgData();
  const checked = useMemo(() => (isSettled ? checkRows(taken.table.rows, known, new Date()) : null), [taken, known, isSettled]);
  return <Preflight name={taken.name} checked={checked} templatesKnown={known.templates !== null} onAnother={onAnother} />;
}

/** Templates that could never be synced are not enforced by the server, so they are not checked here. */
function useOrgData(): { readonly known: OrgData; readonly isSettled: boolean } {
  const templates = useApiQuery(call("get", "/api/v1/outbound/templates"));
  const numbers = useApiQuery(call("get", "/api/v1/numbers"), { enabled: useMay("admin") });
  const isSettled = !templates.isLoading && !numbers.isLoading;
  const known = useMemo(() => {
    const isEnforced = templates.data?.accounts.every(({ syncedAt }) => syncedAt !== null) ?? false;
    return {
      templates: templates.data !== undefined && isEnforced ? templates.data.content : null,
      numbers: numbers.data?.map(({ phone_number_id }) => phone_number_id) ?? null,
    };
  }, [templates.data, numbers.data]);
  return { known, isSettled };
}
