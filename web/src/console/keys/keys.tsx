/** API keys: create, rotate and revoke; a key is shown only once. */

import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery, useApiMutation } from "../api";
import { quoted } from "../curl";
import { QueryTable, Commands, Curl, ActionButton, Dialog, Failed, Moment, Page, type Column } from "../kit";
import { words as frame } from "../texts";
import styles from "./keys.module.css";
import { RoleChoice, RoleInWords } from "./role-choice";
import { SecretOnce } from "./secret-once";
import { words } from "./texts";

type Key = components["schemas"]["KeyView"];
type KeyRole = components["schemas"]["CreateKey"]["role"];
type Open = { readonly what: "make" } | { readonly what: "rotate"; readonly key: Key } | { readonly what: "shown"; readonly title: string; readonly secret: string };

const ROLES: readonly KeyRole[] = ["sender", "readonly", "admin"];
const nameOf = ({ label }: Key): string => (label === "" ? words.unnamed : label);

export default function Keys() {
  const { me } = useInboxStore();
  const listing = call("get", "/api/v1/keys");
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const show = (title: string) => (made: Key) => setOpen({ what: "shown", title, secret: made.key ?? "" });
  return (
    <Page
      title={frame.pages.keys}
      intro={words.intro}
      actions={
        <>
          <Curl call={listing} cli={`waypost admin keys ${me.org_id}`} />
          <Button size="compact-sm" onClick={() => setOpen({ what: "make" })}>
            {words.make}
          </Button>
        </>
      }
    >
      <QueryTable
        query={useApiQuery(listing)}
        rowsOf={(keys) => keys}
        label={words.label}
        columns={columnsFor(me.org_id, (key) => setOpen({ what: "rotate", key }))}
        keyOf={({ key_id }) => key_id}
        empty={words.none}
      />
      {open?.what === "make" && <MakeKey onMade={show(words.made)} onClose={close} />}
      {open?.what === "rotate" && <RotateKey of={open.key} onMade={show(words.rotated)} onClose={close} />}
      {open?.what === "shown" && <SecretOnce title={open.title} label={words.theKey} hint={words.shownOnce} secret={open.secret} onClose={close} />}
    </Page>
  );
}

function columnsFor(org: string, rotate: (key: Key) => void): readonly Column<Key>[] {
  const { columns } = words;
  return [
    { head: columns.name, cell: nameOf, wide: true },
    { head: columns.id, cell: ({ key_id }) => <code>{key_id}</code> },
    { head: columns.role, cell: ({ role }) => <RoleInWords role={role} /> },
    { head: columns.created, cell: ({ created_at }) => <Moment at={created_at} /> },
    {
      head: columns.actions,
      cell: (key) => (
        <div className={styles["actions"]}>
          <Button size="compact-sm" variant="default" onClick={() => rotate(key)}>
            {words.rotate}
          </Button>
          <ActionButton
            label={words.revoke}
            title={words.revokeTitle(nameOf(key))}
            call={call("delete", "/api/v1/keys/{key_id}", { path: { key_id: key.key_id } })}
            cli={`waypost admin revoke-key ${org} ${key.key_id}`}
            danger
            done={words.revoked}
          >
            {words.revokeText}
          </ActionButton>
        </div>
      ),
    },
  ];
}

interface FormProps {
  readonly onMade: (key: Key) => void;
  readonly onClose: () => void;
}

function MakeKey({ onMade, onClose }: FormProps) {
  const { me } = useInboxStore();
  const [label, setLabel] = useState("");
  const [role, setRole] = useState<KeyRole>("sender");
  const mutation = useApiMutation<Key>(onMade);
  const request = call("post", "/api/v1/keys", { body: { role, label: label.trim() } });
  return (
    <Dialog title={words.makeTitle} onClose={onClose}>
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          mutation.mutate(request);
        }}
      >
        <TextInput label={words.name} description={words.nameHint} value={label} maxLength={255} data-autofocus onChange={(event) => setLabel(event.currentTarget.value)} />
        <RoleChoice label={words.role} roles={ROLES} value={role} onChange={setRole} />
        {mutation.error !== null && <Failed error={mutation.error} />}
        <Commands call={request} cli={`waypost admin create-key ${me.org_id} --role ${role}${label.trim() === "" ? "" : ` --label ${quoted(label.trim())}`}`} />
        <Foot label={words.make} busy={mutation.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function RotateKey({ of, onMade, onClose }: FormProps & { readonly of: Key }) {
  const { me } = useInboxStore();
  const [grace, setGrace] = useState("60");
  const mutation = useApiMutation<Key>(onMade);
  const request = call("post", "/api/v1/keys/{key_id}/rotate", { path: { key_id: of.key_id }, body: { grace_minutes: Number(grace) } });
  return (
    <Dialog title={words.rotateTitle(nameOf(of))} onClose={onClose}>
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          mutation.mutate(request);
        }}
      >
        {words.rotateText}
        <NativeSelect
          label={words.grace}
          value={grace}
          data={Object.entries(words.graces).map(([value, text]) => ({ value, label: text }))}
          onChange={(event) => setGrace(event.currentTarget.value)}
        />
        {mutation.error !== null && <Failed error={mutation.error} />}
        <Commands call={request} cli={`waypost admin rotate-key ${me.org_id} ${of.key_id} --grace-minutes ${grace}`} />
        <Foot label={words.rotate} busy={mutation.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

const Foot = ({ label, busy, onClose }: { readonly label: string; readonly busy: boolean; readonly onClose: () => void }) => (
  <div className={styles["foot"]}>
    <Button variant="default" onClick={onClose}>
      {words.cancel}
    </Button>
    <Button type="submit" loading={busy}>
      {label}
    </Button>
  </div>
);
