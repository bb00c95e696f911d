/** Edits a number; only changed fields are sent, and secrets can be replaced but not read. */

import { Button, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useState } from "react";

import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiMutation } from "../api";
import { Commands, Dialog, Failed, useToast } from "../kit";
import { changeOf, cliOf, enteredOf, SECRETS, withoutSecrets, type Entered } from "./form";
import type { Number_ } from "./health";
import styles from "./numbers.module.css";
import { words } from "./texts";

const asChoice = ({ phone_number_id: id }: Number_) => ({ value: id, label: words.failoverTo(id) });

interface Props {
  readonly number: Number_;
  readonly others: readonly Number_[];
  readonly onClose: () => void;
}

export function EditNumber({ number, others, onClose }: Props) {
  const { me } = useInboxStore();
  const toast = useToast();
  const [entered, setEntered] = useState<Entered>(() => enteredOf(number));
  const mutation = useApiMutation<Number_>(() => {
    onClose();
    toast(words.saved);
  });
  const id = number.phone_number_id;
  const body = changeOf(number, entered);
  const isSame = Object.keys(body).length === 0;
  const request = (sent: typeof body) => call("patch", "/api/v1/numbers/{phone_number_id}", { path: { phone_number_id: id }, body: sent });
  const of = (name: keyof Entered) => ({
    label: words.fields[name],
    value: entered[name],
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => setEntered((now) => ({ ...now, [name]: value })),
  });
  return (
    <Dialog title={words.editTitle(id)} onClose={onClose}>
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          mutation.mutate(request(body));
        }}
      >
        <TextInput {...of("pace")} inputMode="numeric" />
        <TextInput {...of("tier")} inputMode="numeric" description={words.hints.tier} />
        <NativeSelect {...of("failover")} data={[{ value: "", label: words.noFailover }, ...others.map(asChoice)]} />
        {SECRETS.map((name) => (
          <PasswordInput key={name} {...of(name)} description={words.stays} autoComplete="new-password" />
        ))}
        <TextInput {...of("graph_url")} description={words.hints.graph_url} />
        <NativeSelect {...of("error_catalogue")} data={Object.entries(words.catalogues).map(([value, label]) => ({ value, label }))} />
        {mutation.error !== null && <Failed error={mutation.error} />}
        {!isSame && <Commands call={request(withoutSecrets(body))} cli={cliOf(me.org_id, id, body)} />}
        <div className={styles["foot"]}>
          <Button variant="default" onClick={onClose}>
            {words.cancel}
          </Button>
          <Button type="submit" disabled={isSame} loading={mutation.isPending}>
            {words.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
