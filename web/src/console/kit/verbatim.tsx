/** Text as it is, character by character; scrolls by keyboard, too. */

import styles from "./kit.module.css";

export const Verbatim = ({ children }: { readonly children: string }) => (
  <pre className={styles["verbatim"]} tabIndex={0}>
    {children}
  </pre>
);
