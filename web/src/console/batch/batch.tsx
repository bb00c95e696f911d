/** Many messages from a file: checked line by line before anything is sent, then sent with its progress shown. */

import { useMemo, useState } from "react";

import { useDesk } from "../../live/use-desk";
import { call, useAnswer } from "../api";
import { quoted } from "../curl";
import { Curl, Page } from "../kit";
import { useMay } from "../roles";
import { words as frame } from "../texts";
import { checkRows, type Known } from "./check";
import { Choose, type Taken } from "./choose";
import { setCurrent, useCurrent } from "./current";
import { Preflight } from "./preflight";
import { Progressing } from "./progressing";
import { words } from "./texts";

/** Shown as curl: two lines of the example. */
const EXAMPLE = call("post", "/api/v1/outbound/messages/batch", {
  body: {
    messages: [
      { channel: "WHATSAPP", to: "+15550001111", payloadJson: { text: "Your order is on its way" }, idempotencyKey: "order-7" },
      { channel: "WHATSAPP", to: "+15550002222", payloadJson: { text: "Your order is on its way" }, idempotencyKey: "order-8" },
    ] as never,
  },
});

export default function Batch() {
  const { me } = useDesk();
  const run = useCurrent();
  const [taken, setTaken] = useState<Taken | null>(null);
  const command = `waypost send ${me.org_id} --csv ${quoted(run?.name ?? taken?.name ?? "orders.csv")}`;
  return (
    <Page title={frame.pages.batch} intro={words.intro} actions={<Curl call={EXAMPLE} cli={`${command} --dry-run\n${command}`} />}>
      {run !== null ? (
        <Progressing
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
  const { known, isSettled } = useKnown();
  const checked = useMemo(() => (isSettled ? checkRows(taken.table.rows, known, new Date()) : null), [taken, known, isSettled]);
  return <Preflight name={taken.name} checked={checked} templatesKnown={known.templates !== null} onAnother={onAnother} />;
}

/** A list of templates that could never be fetched is not enforced by the server, so not here either. */
function useKnown(): { readonly known: Known; readonly isSettled: boolean } {
  const templates = useAnswer(call("get", "/api/v1/outbound/templates"));
  const numbers = useAnswer(call("get", "/api/v1/numbers"), { enabled: useMay("admin") });
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
