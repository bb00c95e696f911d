/** The server's settings; secrets are not shown. */

import { Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { call, useApiQuery } from "../api";
import { QueryTable, Curl, Marked, Panel, Status, Toolbar, type Column } from "../kit";
import styles from "./settings.module.css";
import { texts } from "./texts";

type Setting = components["schemas"]["SettingInForce"];

const { settings: labels } = texts;

const COLUMNS: readonly Column<Setting>[] = [
  { head: labels.name, cell: (setting) => <Name setting={setting} />, wide: true },
  { head: labels.value, cell: (setting) => <Value setting={setting} />, wide: true },
  { head: labels.source, cell: ({ source }) => <Status mood={source === "default" ? "calm" : "good"}>{labels.sources[source]}</Status> },
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
  if (value === null) return <span className={styles["soft"]}>{given ? labels.set : labels.notSet}</span>;
  return (
    <>
      {value === "" ? <span className={styles["soft"]}>{labels.empty}</span> : <span className={styles["value"]}>{value}</span>}
      {source !== "default" && usual !== null && usual !== value && <div className={styles["soft"]}>{labels.byDefault(usual === "" ? labels.empty : usual)}</div>}
    </>
  );
}

export function ServerSettings() {
  const request = call("get", "/api/v1/settings");
  const result = useApiQuery(request);
  const [words, setWords] = useState("");
  const [changed, setChanged] = useState(false);
  const like = ({ name, about, source }: Setting): boolean =>
    `${name} ${about}`.toLowerCase().includes(words.trim().toLowerCase()) && (!changed || source !== "default");
  return (
    <Panel title={labels.title} intro={labels.intro} actions={<Curl call={request} cli="waypost admin settings" />}>
      <Toolbar label={labels.filter}>
        <TextInput type="search" label={labels.filter} value={words} onChange={(event) => setWords(event.currentTarget.value)} />
        <Checkbox className={styles["changed"] ?? ""} label={labels.changed} checked={changed} onChange={(event) => setChanged(event.currentTarget.checked)} />
      </Toolbar>
      <QueryTable query={result} rowsOf={({ content }) => content.filter(like)} label={labels.title} columns={COLUMNS} keyOf={({ name }) => name} empty={labels.none} />
    </Panel>
  );
}
