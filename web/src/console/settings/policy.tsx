/** What the org has set for itself, field by field, and its change. */

import { Button } from "@mantine/core";
import { useState } from "react";

import { useDesk } from "../../live/use-desk";
import { call, useAnswer } from "../api";
import { AnswerTable, Curl, Panel, Status, type Column } from "../kit";
import { ChangePolicy } from "./change-policy";
import { fieldsOf, inWords, type Field } from "./fields";
import styles from "./settings.module.css";
import { texts } from "./texts";

const { policy: said } = texts;

export function Policy() {
  const { org_id } = useDesk().me;
  const asking = call("get", "/api/v1/policy");
  const answer = useAnswer(asking);
  const [changing, setChanging] = useState<Field | null>(null);
  const columns: readonly Column<Field>[] = [
    { head: said.field, cell: (field) => <Name field={field} />, wide: true },
    { head: said.value, cell: ({ inForce }) => <span className={styles["value"]}>{inForce === null ? said.nothing : inWords(inForce)}</span>, wide: true },
    { head: said.source, cell: ({ own }) => <Status mood={own ? "good" : "calm"}>{own ? said.own : said.byDefault}</Status> },
    {
      head: "",
      cell: (field) => (
        <Button size="compact-sm" variant="default" onClick={() => setChanging(field)} aria-label={said.question(field.title)}>
          {said.change}
        </Button>
      ),
    },
  ];
  return (
    <Panel title={said.title} intro={said.intro} actions={<Curl call={asking} cli={`waypost admin policy ${org_id}`} />}>
      <AnswerTable to={answer} rowsOf={fieldsOf} label={said.title} columns={columns} keyOf={({ name }) => name} />
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
