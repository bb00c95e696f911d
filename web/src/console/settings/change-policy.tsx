/** One field of the policy, changed as JSON or put back to the default. */

import { Button, Textarea } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useDesk } from "../../live/use-desk";
import { call, useDeed } from "../api";
import { quoted } from "../curl";
import { Commands, Dialog, Failed, useSay } from "../kit";
import { words } from "../texts";
import { read, type Field } from "./fields";
import styles from "./settings.module.css";
import { texts } from "./texts";

const { policy: said } = texts;
const patch = (name: string, value: unknown) => call("patch", "/api/v1/policy", { body: { [name]: value } });

export function ChangePolicy({ field, onClose }: { readonly field: Field; readonly onClose: () => void }) {
  const { org_id } = useDesk().me;
  const say = useSay();
  const [written, setWritten] = useState(() => (field.own ? JSON.stringify(field.inForce, null, 2) : field.example));
  const value = read(written);
  const deed = useDeed<components["schemas"]["PolicyView"]>(() => {
    onClose();
    say(said.done);
  });
  return (
    <Dialog title={said.question(field.title)} onClose={onClose}>
      {field.about}
      <Textarea
        label={said.json}
        description={said.hint}
        value={written}
        onChange={(event) => setWritten(event.currentTarget.value)}
        error={value === undefined && said.notJson}
        rows={5}
        classNames={{ input: styles["json"] ?? "" }}
        data-autofocus
      />
      {deed.error !== null && <Failed error={deed.error} />}
      {value !== undefined && (
        <Commands call={patch(field.name, value)} cli={`waypost admin policy ${org_id} --set ${quoted(`${field.name}=${JSON.stringify(value)}`)}`} />
      )}
      <div className={styles["foot"]}>
        <Button variant="default" onClick={onClose}>
          {words.deed.cancel}
        </Button>
        {field.own && (
          <Button variant="default" loading={deed.isPending} onClick={() => deed.mutate(patch(field.name, null))}>
            {said.reset}
          </Button>
        )}
        <Button disabled={value === undefined} loading={deed.isPending} onClick={() => deed.mutate(patch(field.name, value))}>
          {said.save}
        </Button>
      </div>
    </Dialog>
  );
}
