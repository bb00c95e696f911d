/** The accounts' templates, with a preview and the time of the last sync. */

import { Button, TextInput } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useInboxStore } from "../../live/use-inbox-store";
import { useAddress } from "../../path";
import { call, useApiQuery, useApiMutation } from "../api";
import { QueryState, Curl, Failed, Moment, Page, Panel, Status, Table, useToast, type Column } from "../kit";
import { useMay } from "../roles";
import { words as frame } from "../texts";
import { addressOf, chosenIn, type Template } from "./filling";
import { Preview } from "./preview";
import { words } from "./texts";

type Account = components["schemas"]["AccountView"];

const COLUMNS: readonly Column<Template>[] = [
  { head: words.columns.name, cell: ({ name }) => name },
  { head: words.columns.language, cell: ({ language }) => language },
  { head: words.columns.status, cell: ({ status }) => <Status mood={words.moods[status] ?? "calm"}>{status}</Status> },
  { head: words.columns.category, cell: ({ category }) => category },
  { head: words.columns.parameters, cell: ({ parameters }) => parameters.length, align: "right" },
];

const ACCOUNT: Column<Template> = { head: words.account.id, cell: ({ wabaId }) => wabaId };

const ACCOUNT_COLUMNS: readonly Column<Account>[] = [
  { head: words.account.id, cell: ({ wabaId }) => wabaId },
  { head: words.account.count, cell: ({ templates }) => templates, align: "right" },
  { head: words.account.synced, cell: ({ syncedAt }) => (syncedAt === null ? words.never : <Moment at={syncedAt} />) },
  { head: words.account.error, cell: ({ error }) => error !== null && <Status mood="bad">{error}</Status>, wide: true },
];

export default function Templates() {
  const { me } = useInboxStore();
  const listing = call("get", "/api/v1/outbound/templates");
  const result = useApiQuery(listing);
  return (
    <Page
      title={frame.pages.templates}
      intro={words.intro}
      actions={<Curl call={listing} cli={`waypost admin templates ${me.org_id}`} />}
    >
      <QueryState query={result}>
        {({ content, accounts }) => (
          <>
            <Chosen templates={content} />
            <Listed templates={content} withAccount={accounts.length > 1} />
            <Panel title={words.accounts} intro={words.accountsIntro} actions={<Sync />}>
              <Table label={words.accounts} columns={ACCOUNT_COLUMNS} rows={accounts} keyOf={({ wabaId }) => wabaId} empty={words.noAccounts} />
            </Panel>
          </>
        )}
      </QueryState>
    </Page>
  );
}

function Sync() {
  const { me } = useInboxStore();
  const toast = useToast();
  const request = call("post", "/api/v1/outbound/templates/sync");
  const mutation = useApiMutation<readonly Account[]>((accounts) => {
    const failed = accounts.filter(({ error }) => error !== null).length;
    toast(failed === 0 ? words.synced : words.syncFailed(failed));
  });
  const maySync = useMay("sender");
  if (!maySync) return null;
  return (
    <>
      <Curl call={request} cli={`waypost admin templates ${me.org_id} --sync`} />
      <Button size="compact-sm" variant="default" loading={mutation.isPending} onClick={() => mutation.mutate(request)}>
        {words.sync}
      </Button>
      {mutation.error !== null && <Failed error={mutation.error} />}
    </>
  );
}

/** The account column is shown only if there are several accounts. */
function Listed({ templates, withAccount }: { readonly templates: readonly Template[]; readonly withAccount: boolean }) {
  const [part, setPart] = useState("");
  const found = templates.filter(({ name }) => name.toLowerCase().includes(part.trim().toLowerCase()));
  return (
    <>
      {templates.length > 5 && <TextInput label={words.filter} placeholder={words.filterHint} value={part} onChange={(event) => setPart(event.currentTarget.value)} />}
      <Table
        label={words.label}
        columns={withAccount ? [...COLUMNS, ACCOUNT] : COLUMNS}
        rows={found}
        keyOf={({ wabaId, name, language }) => `${wabaId}/${name}/${language}`}
        linkOf={addressOf}
        empty={templates.length === 0 ? words.none : words.nothingFound}
      />
    </>
  );
}

/** The URL names the selected template. */
function Chosen({ templates }: { readonly templates: readonly Template[] }) {
  const search = useAddress((address) => address.search);
  const wanted = chosenIn(search);
  const chosen = templates.find(({ wabaId, name, language }) => wabaId === wanted?.account && name === wanted.name && language === wanted.language);
  return chosen === undefined ? null : <Preview key={search} template={chosen} />;
}
