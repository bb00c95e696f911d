/** Rows of one kind; on a phone each row is a card that names its fields. */

import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { linkTo } from "../../path";
import { words } from "../texts";
import { Answered } from "./answered";
import styles from "./kit.module.css";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  /** Figures stand right, one below the other. */
  readonly align?: "right";
  /** Takes the room that is left, and breaks its lines. */
  readonly wide?: boolean;
}

interface Props<Row> {
  /** What the rows are, for who does not see them. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** Where the first field of a row leads to. */
  readonly linkOf?: (row: Row) => string;
  readonly empty?: ReactNode;
}

export function Table<Row>({ label, columns, rows, keyOf, linkOf, empty = words.empty }: Props<Row>) {
  if (rows.length === 0) return <div className={styles["empty"]}>{empty}</div>;
  return (
    <div className={styles["tableFrame"]} role="region" aria-label={label} tabIndex={0}>
      {/* Roles are named, since a phone's style would else take them away. */}
      <table className={styles["table"]} role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, align, wide }) => (
              <th key={head} role="columnheader" data-align={align} data-wide={wide}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" data-link={linkOf !== undefined || undefined}>
              {columns.map(({ head, cell, align, wide }, index) => (
                <td key={head} role="cell" data-head={head} data-align={align} data-wide={wide}>
                  <div>{index === 0 && linkOf !== undefined ? <a {...linkTo(linkOf(row))}>{cell(row)}</a> : cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface FromProps<Answer, Row> extends Omit<Props<Row>, "rows"> {
  readonly to: UseQueryResult<Answer>;
  readonly rowsOf: (answer: Answer) => readonly Row[];
}

/** The same of an answer, with its waiting and failing. */
export function AnswerTable<Answer, Row>({ to, rowsOf, ...table }: FromProps<Answer, Row>) {
  return <Answered to={to}>{(answer) => <Table {...table} rows={rowsOf(answer)} />}</Answered>;
}
