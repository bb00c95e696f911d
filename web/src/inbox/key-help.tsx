/** The list of keyboard shortcuts. */

import { Fragment } from "react";

import { texts } from "../texts";
import { Dialog } from "./dialog";
import styles from "./inbox.module.css";

export default function KeyHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title={texts.keys.title} onClose={onClose}>
      <dl className={styles["keys"]}>
        {texts.keys.list.map(([keys, action]) => (
          <Fragment key={keys}>
            <dt>{keys}</dt>
            <dd>{action}</dd>
          </Fragment>
        ))}
      </dl>
    </Dialog>
  );
}
