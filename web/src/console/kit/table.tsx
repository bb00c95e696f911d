/** A table; on phones each row is a card with field names. */

import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { linkTo } from "../../path";
import { words } from "../texts";
import { QueryState } from "./query-state";
import styles from "./kit.module.css";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  /** For numbers. */
  readonly align?: "right";
  /** Takes the remaining width, and wraps. */
  readonly wide?: boolean;
}

interface Props<Row> {
  /** The accessible name. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** The link of a row's first cell. */
  readonly linkOf?: (row: Row) => string;
  readonly empty?: ReactNode;
}

export function Table<Row>({ label, columns, rows, keyOf, linkOf, empty = words.empty }: Props<Row>) {
  if (rows.length === 0) return <div className={styles["empty"]}>{empty}</div>;
  return (
    <div className={styles["tableFrame"]} role="region" aria-label={label} tabIndex={0}>
      {/* Explicit roles, since the phone layout removes the implicit ones. */}
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
  readonly query: UseQueryResult<Answer>;
  readonly rowsOf: (answer: Answer) => readonly Row[];
}

/** A table for a query, with its loading and error states. */
export function QueryTable<Answer, Row>({ query, rowsOf, ...table }: FromProps<Answer, Row>) {
  return <QueryState query={query}>{(answer) => <Table {...table} rows={rowsOf(answer)} />}</QueryState>;
}
