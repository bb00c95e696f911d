/** Selects a file by dialog, drop or paste, and reports problems with the file as a whole. */

import { Alert, Button, FileButton, Textarea } from "@mantine/core";
import { useState } from "react";

import { Panel } from "../kit";
import styles from "./batch.module.css";
import { NotCsv, readTable, type Table } from "./csv";
import { wrongColumns } from "./lines";
import { words } from "./texts";

export interface Taken {
  readonly name: string;
  readonly table: Table;
}

const LARGEST = 20_000_000;

export function Choose({ onTaken }: { readonly onTaken: (taken: Taken) => void }) {
  const [problem, setProblem] = useState<string | null>(null);
  const [pasted, setPasted] = useState("");
  const [isOver, setOver] = useState(false);
  const take = (name: string, text: string): void => {
    const taken = understood(name, text);
    if (typeof taken === "string") setProblem(taken);
    else onTaken(taken);
  };
  const takeFile = async (file: File | null | undefined): Promise<void> => {
    if (!file) return;
    const text = await textOf(file);
    if (text === null) setProblem(file.size > LARGEST ? words.tooLarge : words.notUtf8);
    else take(file.name, text);
  };
  return (
    <>
      {problem !== null && (
        <Alert color="red" variant="light" role="alert">
          {problem}
        </Alert>
      )}
      <div
        className={styles["drop"]}
        data-over={isOver || undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void takeFile(event.dataTransfer.files[0]);
        }}
      >
        <FileButton accept=".csv,.tsv,.txt,text/csv" onChange={(file) => void takeFile(file)}>
          {(props) => <Button {...props}>{words.choose}</Button>}
        </FileButton>
        <span>{words.drop}</span>
      </div>
      <Panel title={words.paste} intro={words.pasteHint}>
        <Textarea
          aria-label={words.lines}
          placeholder={words.example}
          rows={5}
          value={pasted}
          classNames={{ input: styles["pasted"] ?? "" }}
          onChange={(event) => setPasted(event.currentTarget.value)}
        />
        <Button variant="default" className={styles["start"] ?? ""} disabled={pasted.trim() === ""} onClick={() => take(words.pastedName, pasted)}>
          {words.usePasted}
        </Button>
      </Panel>
      <Panel title={words.columns}>
        <p className={styles["text"]}>{words.columnsHint}</p>
      </Panel>
    </>
  );
}

async function textOf(file: File): Promise<string | null> {
  if (file.size > LARGEST) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return null;
  }
}

/** The parsed file, or an error message. */
function understood(name: string, text: string): Taken | string {
  try {
    const table = readTable(text);
    const wrong = wrongColumns(table.columns);
    if (wrong !== null) return "missing" in wrong ? words.noTo : words.unknownColumn(wrong.unknown);
    return table.rows.length === 0 ? words.noRows : { name, table };
  } catch (error) {
    if (error instanceof NotCsv) return words.notCsv(error.row);
    throw error;
  }
}
