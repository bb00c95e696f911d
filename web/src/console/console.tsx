/** The operator console; loaded on first use. */

import { NativeSelect } from "@mantine/core";

import { useInboxStore } from "../live/use-inbox-store";
import { go, linkTo, useAddress } from "../path";
import styles from "./console.module.css";
import { ToastProvider } from "./kit/toast";
import { pageAt, PAGES, type PageEntry } from "./pages";
import { may } from "./roles";
import { words } from "./texts";

const GROUPS = ["now", "messages", "setup"] as const;

export default function Console() {
  const { me } = useInboxStore();
  const pathname = useAddress((address) => address.pathname);
  const { page, id } = pageAt(pathname);
  const open = PAGES.filter(({ needs, group }) => group !== null && may(me.role, needs));
  return (
    <ToastProvider>
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
    </ToastProvider>
  );
}

const hrefOf = ({ path }: PageEntry): string => `/console/${path}`;
/** A message page belongs to the outbox. */
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
