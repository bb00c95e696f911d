/** Mailboxes: their health, and connecting a new one. */

import { Button, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery, useApiMutation } from "../api";
import { quoted } from "../curl";
import { QueryTable, Commands, Curl, ActionButton, Dialog, Failed, Panel, useToast, type Column } from "../kit";
import { withoutSecrets } from "./form";
import { healthOf, type Gate } from "./health";
import { HealthCell } from "./health-cell";
import styles from "./numbers.module.css";
import { mailboxes as words, words as page } from "./texts";

type Mailbox = components["schemas"]["MailboxView"];
type Body = components["schemas"]["ConnectMailbox"];

const EVERY_MS = 10_000;

export function Mailboxes({ gates }: { readonly gates: readonly Gate[] }) {
  const { me } = useInboxStore();
  const listing = call("get", "/api/v1/mailboxes");
  const [isConnecting, setConnecting] = useState(false);
  return (
    <Panel
      title={words.title}
      intro={words.intro}
      actions={
        <>
          <Curl call={listing} cli={`waypost admin mailboxes ${me.org_id}`} />
          <Button size="compact-sm" variant="default" onClick={() => setConnecting(true)}>
            {words.connect}
          </Button>
        </>
      }
    >
      <QueryTable
        query={useApiQuery(listing, { everyMs: EVERY_MS })}
        rowsOf={(all) => all}
        label={words.title}
        columns={columnsFor(me.org_id, gates)}
        keyOf={({ mailbox_id }) => mailbox_id}
        empty={words.none}
      />
      {isConnecting && <ConnectMailbox onClose={() => setConnecting(false)} />}
    </Panel>
  );
}

function columnsFor(org: string, gates: readonly Gate[]): readonly Column<Mailbox>[] {
  const { columns } = words;
  return [
    { head: columns.address, cell: ({ address, name }) => (name === "" ? address : `${name} <${address}>`) },
    { head: columns.health, cell: (mailbox) => <HealthCell health={healthOf({ ...mailbox, phone_number_id: mailbox.mailbox_id, waba_id: "" }, gates)} />, wide: true },
    { head: columns.server, cell: ({ host, port, security }) => `${host}:${port} (${security})` },
    { head: columns.actions, cell: (mailbox) => <RowActions org={org} mailbox={mailbox} /> },
  ];
}

function RowActions({ org, mailbox }: { readonly org: string; readonly mailbox: Mailbox }) {
  const { mailbox_id: id, address, enabled } = mailbox;
  const path = { mailbox_id: id };
  return (
    <div className={styles["actions"]}>
      <ActionButton
        label={enabled ? page.disable : page.enable}
        title={enabled ? words.disableTitle(address) : words.enableTitle(address)}
        call={call("patch", "/api/v1/mailboxes/{mailbox_id}", { path, body: { enabled: !enabled } })}
        cli={`waypost admin change-mailbox ${org} ${id} ${enabled ? "--disable" : "--enable"}`}
        done={enabled ? page.wasDisabled : page.enabled}
      >
        {enabled ? words.disableText : page.enableText}
      </ActionButton>
      <ActionButton
        label={page.disconnect}
        title={words.disconnectTitle(address)}
        call={call("delete", "/api/v1/mailboxes/{mailbox_id}", { path })}
        cli={`waypost admin disconnect-mailbox ${org} ${id}`}
        danger
        done={page.disconnected}
      >
        {words.disconnectText}
      </ActionButton>
    </div>
  );
}

const EMPTY = { address: "", name: "", host: "", security: "starttls", username: "", password: "" };

function ConnectMailbox({ onClose }: { readonly onClose: () => void }) {
  const { me } = useInboxStore();
  const toast = useToast();
  const [entered, setEntered] = useState(EMPTY);
  const mutation = useApiMutation<Mailbox>(({ address }) => {
    onClose();
    toast(words.connected(address));
  });
  const given = Object.fromEntries(Object.entries(entered).filter(([, value]) => value.trim() !== ""));
  const request = (body: object) => call("post", "/api/v1/mailboxes", { body: body as Body });
  const of = (name: keyof typeof EMPTY) => ({
    label: words.fields[name],
    value: entered[name],
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => setEntered((now) => ({ ...now, [name]: value })),
  });
  const options = Object.entries(withoutSecrets(given)).filter(([name]) => name !== "password");
  return (
    <Dialog title={words.connect} onClose={onClose}>
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          mutation.mutate(request(given));
        }}
      >
        <TextInput {...of("address")} type="email" placeholder="shop@example.com" required data-autofocus />
        <TextInput {...of("name")} />
        <TextInput {...of("host")} placeholder="smtp.example.com" required />
        <NativeSelect {...of("security")} data={["starttls", "tls", "none"]} />
        <TextInput {...of("username")} autoComplete="off" />
        <PasswordInput {...of("password")} autoComplete="new-password" />
        {mutation.error !== null && <Failed error={mutation.error} />}
        <Commands call={request(withoutSecrets(given))} cli={`waypost admin connect-mailbox ${me.org_id} ${options.map(([name, value]) => `--${name} ${quoted(value)}`).join(" ")}`} />
        <div className={styles["foot"]}>
          <Button variant="default" onClick={onClose}>
            {page.cancel}
          </Button>
          <Button type="submit" loading={mutation.isPending}>
            {words.connect}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
