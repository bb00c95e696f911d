/** The editable fields of the customer's dossier. */

import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { WaypostError } from "@waypost/client";
import { useState, type FormEvent } from "react";

import { changeDossier, dossier } from "../live/requests";
import { useInboxStore } from "../live/use-inbox-store";
import type { Dossier } from "../model";
import { texts } from "../texts";
import styles from "./contact.module.css";

export function ContactDossier({ dossierId }: { readonly dossierId: number }) {
  const { client } = useInboxStore();
  const { data } = useQuery({ queryKey: ["dossier", dossierId], queryFn: () => dossier(client, dossierId) });
  return (
    <section className={styles["section"]}>
      <h4 className={styles["heading"]}>
        {texts.contact.dossier} <span className={styles["soft"]}>{dossierId}</span>
      </h4>
      {data && <Fields key={`${dossierId} ${data.updatedAt}`} dossier={data} />}
    </section>
  );
}

type Draft = Partial<Record<"name" | "ref" | "status", string>>;

/** Unsaved input by dossier; it survives closing the panel and changes by other users. */
const drafts = new Map<number, Draft>();

const STATUS = /^[A-Z][A-Z0-9_]{0,39}$/;

function Fields({ dossier: known }: { readonly dossier: Dossier }) {
  const { client, me } = useInboxStore();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Draft>(drafts.get(known.id) ?? {});
  const saved = { name: known.name ?? "", ref: known.externalRef ?? "", status: known.status };
  const { name, ref, status } = { ...saved, ...draft };
  const type = (typed: Draft) => {
    const all = Object.entries({ ...draft, ...typed }) as [keyof Draft, string][];
    const begun: Draft = Object.fromEntries(all.filter(([field, value]) => value !== saved[field]));
    drafts.set(known.id, begun);
    setDraft(begun);
  };
  const save = useMutation({
    mutationFn: (_begun: Draft) => changeDossier(client, known.id, { name: name.trim() || null, externalRef: ref.trim() || null, status }),
    onSuccess: (changed, begun) => {
      if (drafts.get(known.id) === begun) drafts.delete(known.id); // otherwise more was typed meanwhile
      setDraft(drafts.get(known.id) ?? {});
      queries.setQueryData(["dossier", known.id], changed);
    },
  });
  const isReader = me.role === "readonly";
  const isSame = name === saved.name && ref === saved.ref && status === saved.status;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (STATUS.test(status)) save.mutate(draft);
  };
  return (
    <form className={styles["fields"]} onSubmit={submit}>
      <TextInput size="sm" label={texts.contact.name} value={name} maxLength={255} disabled={isReader} onChange={(event) => type({ name: event.currentTarget.value })} />
      <TextInput size="sm" label={texts.contact.ref} value={ref} maxLength={255} disabled={isReader} onChange={(event) => type({ ref: event.currentTarget.value })} />
      <TextInput
        size="sm"
        label={texts.contact.status}
        value={status}
        maxLength={40}
        disabled={isReader}
        error={STATUS.test(status) ? null : texts.contact.statusHint}
        onChange={(event) => type({ status: event.currentTarget.value.toUpperCase() })}
      />
      {!isReader && !isSame && (
        <Button type="submit" size="compact-sm" loading={save.isPending}>
          {texts.contact.save}
        </Button>
      )}
      {save.isError && (
        <p className={styles["bad"]} role="alert">
          {save.error instanceof WaypostError && save.error.code === "dossier_conflict" ? texts.contact.conflict : texts.contact.failed}
        </p>
      )}
    </form>
  );
}
