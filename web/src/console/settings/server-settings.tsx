/** What the server was told, setting by setting; a secret is only said to be there. */

import { Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { call, useAnswer } from "../api";
import { AnswerTable, Curl, Marked, Panel, Status, Toolbar, type Column } from "../kit";
import styles from "./settings.module.css";
import { texts } from "./texts";

type Setting = components["schemas"]["SettingInForce"];

const { settings: said } = texts;

const COLUMNS: readonly Column<Setting>[] = [
  { head: said.name, cell: (setting) => <Name setting={setting} />, wide: true },
  { head: said.value, cell: (setting) => <Value setting={setting} />, wide: true },
  { head: said.source, cell: ({ source }) => <Status mood={source === "default" ? "calm" : "good"}>{said.sources[source]}</Status> },
];

const Name = ({ setting: { name, about } }: { readonly setting: Setting }) => (
  <>
    <span className={styles["name"]}>{name}</span>
    <div className={styles["soft"]}>
      <Marked text={about} />
    </div>
  </>
);

function Value({ setting: { value, given, default: usual, source } }: { readonly setting: Setting }) {
  if (value === null) return <span className={styles["soft"]}>{given ? said.set : said.notSet}</span>;
  return (
    <>
      {value === "" ? <span className={styles["soft"]}>{said.empty}</span> : <span className={styles["value"]}>{value}</span>}
      {source !== "default" && usual !== null && usual !== value && <div className={styles["soft"]}>{said.byDefault(usual === "" ? said.empty : usual)}</div>}
    </>
  );
}

export function ServerSettings() {
  const asking = call("get", "/api/v1/settings");
  const answer = useAnswer(asking);
  const [words, setWords] = useState("");
  const [changed, setChanged] = useState(false);
  const like = ({ name, about, source }: Setting): boolean =>
    `${name} ${about}`.toLowerCase().includes(words.trim().toLowerCase()) && (!changed || source !== "default");
  return (
    <Panel title={said.title} intro={said.intro} actions={<Curl call={asking} cli="waypost admin settings" />}>
      <Toolbar label={said.filter}>
        <TextInput type="search" label={said.filter} value={words} onChange={(event) => setWords(event.currentTarget.value)} />
        <Checkbox className={styles["changed"] ?? ""} label={said.changed} checked={changed} onChange={(event) => setChanged(event.currentTarget.checked)} />
      </Toolbar>
      <AnswerTable to={answer} rowsOf={({ content }) => content.filter(like)} label={said.title} columns={COLUMNS} keyOf={({ name }) => name} empty={said.none} />
    </Panel>
  );
}
