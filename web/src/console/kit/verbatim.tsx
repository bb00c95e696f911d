/** Preformatted text that can be scrolled by keyboard. */

import styles from "./kit.module.css";

export const Verbatim = ({ children }: { readonly children: string }) => (
  <pre className={styles["verbatim"]} tabIndex={0}>
    {children}
  </pre>
);
