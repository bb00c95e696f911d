/** Whether one customer may be answered freely, and until when. */

import { Button, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";

import type { components } from "../../api/schema";
import { useDesk } from "../../live/use-desk";
import { go, useAddress } from "../../path";
import { call, useAnswer } from "../api";
import { Answered, Curl, Fact, Facts, Moment, Panel, Status } from "../kit";
import styles from "./limits.module.css";
import { texts } from "./texts";

type View = components["schemas"]["WindowView"];

const { window: said } = texts;

export function Window() {
  const phone = useAddress(({ search }) => new URLSearchParams(search).get("phone") ?? "");
  const [written, setWritten] = useState(phone);
  const look = (event: FormEvent) => {
    event.preventDefault();
    const query = new URLSearchParams({ phone: written.trim() });
    go(written.trim() === "" ? "/console/limits" : `/console/limits?${query.toString()}`, "replace");
  };
  return (
    <Panel title={said.title} intro={said.intro}>
      <form className={styles["look"]} onSubmit={look}>
        <TextInput label={said.phone} placeholder={said.placeholder} value={written} onChange={(event) => setWritten(event.currentTarget.value)} />
        <Button type="submit" variant="default">
          {said.look}
        </Button>
      </form>
      {phone !== "" && <Found key={phone} phone={phone} />}
    </Panel>
  );
}

function Found({ phone }: { readonly phone: string }) {
  const { org_id } = useDesk().me;
  const asking = call("get", "/api/v1/outbound/session-windows/{phone}", { path: { phone } });
  const answer = useAnswer(asking);
  return (
    <>
      <Answered to={answer}>{(found) => <Said window={found} />}</Answered>
      <div>
        <Curl call={asking} cli={`waypost admin window ${org_id} ${phone}`} />
      </div>
    </>
  );
}

const When = ({ at }: { readonly at: string | null }) => (at === null ? said.never : <Moment at={at} />);

const Said = ({ window: { open, from, windowOpensAt, windowExpiresAt, lastInboundMessageAt, lastOutboundMessageAt } }: { readonly window: View }) => (
  <Facts>
    <Fact name={said.state}>
      <Status mood={open ? "good" : "calm"}>{open ? said.open : said.closed}</Status>
    </Fact>
    {from !== null && <Fact name={said.number}>{from}</Fact>}
    <Fact name={said.opens}>
      <When at={windowOpensAt} />
    </Fact>
    <Fact name={open ? said.expires : said.expired}>
      <When at={windowExpiresAt} />
    </Fact>
    <Fact name={said.lastIn}>
      <When at={lastInboundMessageAt} />
    </Fact>
    <Fact name={said.lastOut}>
      <When at={lastOutboundMessageAt} />
    </Fact>
  </Facts>
);
