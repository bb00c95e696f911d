/** The layout of console pages: page, panel, toolbar, tiles and facts. */

import { useEffect, type ReactNode } from "react";

import { texts } from "../../texts";
import styles from "./kit.module.css";
import type { Mood } from "./status";

interface Props {
  readonly title: string;
  /** One sentence about the contents. */
  readonly intro?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, intro, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
    return () => {
      document.title = texts.product;
    };
  }, [title]);
  return (
    <div className={styles["page"]}>
      <div className={styles["pageHead"]}>
        <div>
          <h2>{title}</h2>
          {intro !== undefined && <p>{intro}</p>}
        </div>
        {actions !== undefined && <div className={styles["actions"]}>{actions}</div>}
      </div>
      {children}
    </div>
  );
}

export function Panel({ title, intro, actions, children }: Props) {
  return (
    <section className={styles["panel"]} aria-label={title}>
      <div className={styles["panelHead"]}>
        <div>
          <h3>{title}</h3>
          {intro !== undefined && <p>{intro}</p>}
        </div>
        {actions !== undefined && <div className={styles["actions"]}>{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** Filters and buttons above a table. */
export const Toolbar = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <div className={styles["toolbar"]} role="group" aria-label={label}>
    {children}
  </div>
);

/** A row of tiles that wraps. */
export const Tiles = ({ children }: { readonly children: ReactNode }) => <dl className={styles["tiles"]}>{children}</dl>;

interface TileProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly hint?: ReactNode;
  readonly mood?: Mood;
}

export const Tile = ({ label, value, hint, mood }: TileProps) => (
  <div className={styles["tile"]} data-mood={mood}>
    <dt>{label}</dt>
    <dd>{value}</dd>
    {hint !== undefined && <dd className={styles["tileHint"]}>{hint}</dd>}
  </div>
);

/** A list of names and values. */
export const Facts = ({ children }: { readonly children: ReactNode }) => <dl className={styles["facts"]}>{children}</dl>;

export const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
