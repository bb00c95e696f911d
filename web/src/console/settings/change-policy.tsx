/** Changes one policy field as JSON, or resets it to the default. */

import { Button, Textarea } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiMutation } from "../api";
import { quoted } from "../curl";
import { Commands, Dialog, Failed, useToast } from "../kit";
import { words } from "../texts";
import { read, type Field } from "./fields";
import styles from "./settings.module.css";
import { texts } from "./texts";

const { policy: labels } = texts;
const patch = (name: string, value: unknown) => call("patch", "/api/v1/policy", { body: { [name]: value } });

export function ChangePolicy({ field, onClose }: { readonly field: Field; readonly onClose: () => void }) {
  const { org_id } = useInboxStore().me;
  const toast = useToast();
  const [written, setWritten] = useState(() => (field.own ? JSON.stringify(field.inForce, null, 2) : field.example));
  const value = read(written);
  const mutation = useApiMutation<components["schemas"]["PolicyView"]>(() => {
    onClose();
    toast(labels.done);
  });
  return (
    <Dialog title={labels.question(field.title)} onClose={onClose}>
      {field.about}
      <Textarea
        label={labels.json}
        description={labels.hint}
        value={written}
        onChange={(event) => setWritten(event.currentTarget.value)}
        error={value === undefined && labels.notJson}
        rows={5}
        classNames={{ input: styles["json"] ?? "" }}
        data-autofocus
      />
      {mutation.error !== null && <Failed error={mutation.error} />}
      {value !== undefined && (
        <Commands call={patch(field.name, value)} cli={`waypost admin policy ${org_id} --set ${quoted(`${field.name}=${JSON.stringify(value)}`)}`} />
      )}
      <div className={styles["foot"]}>
        <Button variant="default" onClick={onClose}>
          {words.action.cancel}
        </Button>
        {field.own && (
          <Button variant="default" loading={mutation.isPending} onClick={() => mutation.mutate(patch(field.name, null))}>
            {labels.reset}
          </Button>
        )}
        <Button disabled={value === undefined} loading={mutation.isPending} onClick={() => mutation.mutate(patch(field.name, value))}>
          {labels.save}
        </Button>
      </div>
    </Dialog>
  );
}
