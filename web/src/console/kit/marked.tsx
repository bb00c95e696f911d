/** Server text with `code` in backticks; rendered as text, never as markup. */

import { Fragment } from "react";

import styles from "./kit.module.css";

export const Marked = ({ text }: { readonly text: string }) =>
  text.split("`").map((part, index) => (
    // The index is a stable key while the text is unchanged.
    <Fragment key={index}>{index % 2 === 1 ? <code className={styles["code"]}>{part}</code> : part}</Fragment>
  ));
