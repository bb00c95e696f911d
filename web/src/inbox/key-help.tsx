/** What the keys do. */

import { Fragment } from "react";

import { texts } from "../texts";
import { Dialog } from "./dialog";
import styles from "./inbox.module.css";

export default function KeyHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title={texts.keys.title} onClose={onClose}>
      <dl className={styles["keys"]}>
        {texts.keys.list.map(([keys, deed]) => (
          <Fragment key={keys}>
            <dt>{keys}</dt>
            <dd>{deed}</dd>
          </Fragment>
        ))}
      </dl>
    </Dialog>
  );
}
