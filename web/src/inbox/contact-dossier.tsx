/** The business's file on a customer, as far as it is changed here. */

import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { WaypostError } from "@waypost/client";
import { useState, type FormEvent } from "react";

import { changeDossier, dossier } from "../live/asking";
import { useDesk } from "../live/use-desk";
import type { Dossier } from "../model";
import { texts } from "../texts";
import styles from "./contact.module.css";

export function ContactDossier({ dossierId }: { readonly dossierId: number }) {
  const { client } = useDesk();
  const { data } = useQuery({ queryKey: ["dossier", dossierId], queryFn: () => dossier(client, dossierId) });
  return (
    <section className={styles["section"]}>
      <h4 className={styles["heading"]}>
        {texts.contact.dossier} <span className={styles["soft"]}>{dossierId}</span>
      </h4>
      {data && <Fields key={data.updatedAt} dossier={data} />}
    </section>
  );
}

const STATUS = /^[A-Z][A-Z0-9_]{0,39}$/;

function Fields({ dossier: known }: { readonly dossier: Dossier }) {
  const { client, me } = useDesk();
  const queries = useQueryClient();
  const [name, setName] = useState(known.name ?? "");
  const [ref, setRef] = useState(known.externalRef ?? "");
  const [status, setStatus] = useState(known.status);
  const save = useMutation({
    mutationFn: () => changeDossier(client, known.id, { name: name.trim() || null, externalRef: ref.trim() || null, status }),
    onSuccess: (changed) => queries.setQueryData(["dossier", known.id], changed),
  });
  const isReader = me.role === "readonly";
  const isSame = name === (known.name ?? "") && ref === (known.externalRef ?? "") && status === known.status;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (STATUS.test(status)) save.mutate();
  };
  return (
    <form className={styles["fields"]} onSubmit={submit}>
      <TextInput size="sm" label={texts.contact.name} value={name} maxLength={255} disabled={isReader} onChange={(event) => setName(event.currentTarget.value)} />
      <TextInput size="sm" label={texts.contact.ref} value={ref} maxLength={255} disabled={isReader} onChange={(event) => setRef(event.currentTarget.value)} />
      <TextInput
        size="sm"
        label={texts.contact.status}
        value={status}
        maxLength={40}
        disabled={isReader}
        error={STATUS.test(status) ? null : texts.contact.statusHint}
        onChange={(event) => setStatus(event.currentTarget.value.toUpperCase())}
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
