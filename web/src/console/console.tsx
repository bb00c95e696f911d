/** The operator's part of the page: what the machine is doing, and what to do about it. Loaded when it is first opened. */

import { NativeSelect } from "@mantine/core";

import { useDesk } from "../live/use-desk";
import { go, linkTo, useAddress } from "../path";
import styles from "./console.module.css";
import { Saying } from "./kit/said";
import { pageAt, PAGES, type PageEntry } from "./pages";
import { may } from "./roles";
import { words } from "./texts";

const GROUPS = ["now", "messages", "setup"] as const;

export default function Console() {
  const { me } = useDesk();
  const pathname = useAddress((address) => address.pathname);
  const { page, id } = pageAt(pathname);
  const open = PAGES.filter(({ needs, group }) => group !== null && may(me.role, needs));
  return (
    <Saying>
      <div className={styles["console"]}>
        <Side pages={open} at={page} />
        <main className={styles["main"]} key={pathname}>
          {page === null ? (
            <NoPage text={words.unknown} />
          ) : may(me.role, page.needs) ? (
            <page.component id={id} />
          ) : (
            <NoPage text={words.notYours} />
          )}
        </main>
      </div>
    </Saying>
  );
}

const hrefOf = ({ path }: PageEntry): string => `/console/${path}`;
/** A message's page is a page of the outbox. */
const isWithin = (at: PageEntry | null, page: PageEntry): boolean => at !== null && at.path.replace(/\/$/, "") === page.path;

function Side({ pages, at }: { readonly pages: readonly PageEntry[]; readonly at: PageEntry | null }) {
  return (
    <nav className={styles["side"]} aria-label={words.label}>
      <NativeSelect
        className={styles["select"] ?? ""}
        aria-label={words.page}
        value={pages.find((page) => isWithin(at, page))?.path ?? ""}
        data={pages.map(({ path, title }) => ({ value: path, label: title }))}
        onChange={(event) => go(`/console/${event.currentTarget.value}`)}
      />
      {GROUPS.map((group) => {
        const inGroup = pages.filter((page) => page.group === group);
        return (
          inGroup.length > 0 && (
            <div key={group} className={styles["group"]}>
              <span className={styles["groupName"]}>{words.groups[group]}</span>
              {inGroup.map((page) => (
                <a key={page.path} className={styles["link"]} aria-current={isWithin(at, page) ? "page" : undefined} {...linkTo(hrefOf(page))}>
                  {page.title}
                </a>
              ))}
            </div>
          )
        );
      })}
    </nav>
  );
}

const NoPage = ({ text }: { readonly text: string }) => (
  <div className={styles["noPage"]}>
    <p>{text}</p>
    <a {...linkTo("/console/overview")}>{words.toOverview}</a>
  </div>
);
