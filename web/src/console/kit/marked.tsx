/** Text of the server's in which backticks enclose names: those look like names, everything stays text. */

import { Fragment } from "react";

import styles from "./kit.module.css";

export const Marked = ({ text }: { readonly text: string }) =>
  text.split("`").map((part, index) => (
    // The parts stay where they are as long as the text does.
    <Fragment key={index}>{index % 2 === 1 ? <code className={styles["code"]}>{part}</code> : part}</Fragment>
  ));
