/** The org's policy. */

import { Button } from "@mantine/core";
import { useState } from "react";

import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery } from "../api";
import { QueryTable, Curl, Panel, Status, type Column } from "../kit";
import { ChangePolicy } from "./change-policy";
import { fieldsOf, inWords, type Field } from "./fields";
import styles from "./settings.module.css";
import { texts } from "./texts";

const { policy: labels } = texts;

export function Policy() {
  const { org_id } = useInboxStore().me;
  const request = call("get", "/api/v1/policy");
  const result = useApiQuery(request);
  const [changing, setChanging] = useState<Field | null>(null);
  const columns: readonly Column<Field>[] = [
    { head: labels.field, cell: (field) => <Name field={field} />, wide: true },
    { head: labels.value, cell: ({ inForce }) => <span className={styles["value"]}>{inForce === null ? labels.nothing : inWords(inForce)}</span>, wide: true },
    { head: labels.source, cell: ({ own }) => <Status mood={own ? "good" : "calm"}>{own ? labels.own : labels.byDefault}</Status> },
    {
      head: "",
      cell: (field) => (
        <Button size="compact-sm" variant="default" onClick={() => setChanging(field)} aria-label={labels.question(field.title)}>
          {labels.change}
        </Button>
      ),
    },
  ];
  return (
    <Panel title={labels.title} intro={labels.intro} actions={<Curl call={request} cli={`waypost admin policy ${org_id}`} />}>
      <QueryTable query={result} rowsOf={fieldsOf} label={labels.title} columns={columns} keyOf={({ name }) => name} />
      {changing !== null && <ChangePolicy field={changing} onClose={() => setChanging(null)} />}
    </Panel>
  );
}

const Name = ({ field: { title, about, name } }: { readonly field: Field }) => (
  <>
    {title} <span className={styles["soft"]}>{name}</span>
    <div className={styles["soft"]}>{about}</div>
  </>
);
