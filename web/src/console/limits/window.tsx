/** Looks up the 24-hour window of a customer. */

import { Button, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";

import type { components } from "../../api/schema";
import { useInboxStore } from "../../live/use-inbox-store";
import { go, useAddress } from "../../path";
import { call, useApiQuery } from "../api";
import { QueryState, Curl, Fact, Facts, Moment, Panel, Status } from "../kit";
import styles from "./limits.module.css";
import { texts } from "./texts";

type View = components["schemas"]["WindowView"];

const { window: labels } = texts;

export function Window() {
  const phone = useAddress(({ search }) => new URLSearchParams(search).get("phone") ?? "");
  const [written, setWritten] = useState(phone);
  const look = (event: FormEvent) => {
    event.preventDefault();
    const query = new URLSearchParams({ phone: written.trim() });
    go(written.trim() === "" ? "/console/limits" : `/console/limits?${query.toString()}`, "replace");
  };
  return (
    <Panel title={labels.title} intro={labels.intro}>
      <form className={styles["look"]} onSubmit={look}>
        <TextInput label={labels.phone} placeholder={labels.placeholder} value={written} onChange={(event) => setWritten(event.currentTarget.value)} />
        <Button type="submit" variant="default">
          {labels.look}
        </Button>
      </form>
      {phone !== "" && <Found key={phone} phone={phone} />}
    </Panel>
  );
}

function Found({ phone }: { readonly phone: string }) {
  const { org_id } = useInboxStore().me;
  const request = call("get", "/api/v1/outbound/session-windows/{phone}", { path: { phone } });
  const result = useApiQuery(request);
  return (
    <>
      <QueryState query={result}>{(found) => <WindowFacts window={found} />}</QueryState>
      <div>
        <Curl call={request} cli={`waypost admin window ${org_id} ${phone}`} />
      </div>
    </>
  );
}

const When = ({ at }: { readonly at: string | null }) => (at === null ? labels.never : <Moment at={at} />);

const WindowFacts = ({ window: { open, from, windowOpensAt, windowExpiresAt, lastInboundMessageAt, lastOutboundMessageAt } }: { readonly window: View }) => (
  <Facts>
    <Fact name={labels.state}>
      <Status mood={open ? "good" : "calm"}>{open ? labels.open : labels.closed}</Status>
    </Fact>
    {from !== null && <Fact name={labels.number}>{from}</Fact>}
    <Fact name={labels.opens}>
      <When at={windowOpensAt} />
    </Fact>
    <Fact name={open ? labels.expires : labels.expired}>
      <When at={windowExpiresAt} />
    </Fact>
    <Fact name={labels.lastIn}>
      <When at={lastInboundMessageAt} />
    </Fact>
    <Fact name={labels.lastOut}>
      <When at={lastOutboundMessageAt} />
    </Fact>
  </Facts>
);
