/** One phone: header, messages and composer. */

import { ActionIcon, Switch } from "@mantine/core";
import { useEffect, useLayoutEffect, useRef, type ReactNode } from "react";

import { Chats } from "../icons";
import { goTo } from "../inbox/path";
import { markDone, useProgress } from "../shell/first-steps";
import { dayLabel, dayOf } from "../time";
import { initialsOf } from "../display-text";
import { Bubble } from "./bubble";
import { readAll } from "./sandbox-api";
import { answeredIn, quotedBy } from "./choices";
import { PhoneComposer } from "./composer";
import type { Line } from "./model";
import styles from "./phones.module.css";
import { words } from "./texts";
import type { PhonesShown } from "./use-phones";

interface Props {
  readonly phones: PhonesShown;
  /** The inbox conversation. */
  readonly conversation: string | null;
}

/** The delay before messages are marked as read, so that the delivered ticks are visible first. */
const GLANCE_MS = 700;

export function Device({ phones, conversation }: Props) {
  const { person, lines, reads, screenState } = phones;
  const business = screenState.screen?.business?.name ?? "";
  const arrived = lines?.filter(({ status }) => status !== "failed") ?? null;
  useReading(person.phone, arrived, reads);
  useSteps(arrived);
  return (
    <section className={styles["device"]} aria-label={words.of(person.name)}>
      <Head name={business} types={lines !== null && screenState.screen?.typing === true} conversation={conversation} />
      <Messages lines={arrived} business={business} phone={person.phone} />
      {screenState.away && (
        <p className={styles["away"]} role="alert">
          {words.away}
        </p>
      )}
      <div className={styles["reading"]}>
        <Switch
          size="xs"
          label={words.reading.automatic}
          title={words.reading.hint}
          checked={reads}
          onChange={(event) => phones.setReads(event.currentTarget.checked)}
        />
        {!reads && (
          <button type="button" className={styles["quiet"]} onClick={() => void readAll(person.phone).catch(() => undefined)}>
            {words.reading.now}
          </button>
        )}
      </div>
      <PhoneComposer person={person} />
    </section>
  );
}

function Head({ name, types, conversation }: { readonly name: string; readonly types: boolean; readonly conversation: string | null }) {
  return (
    <header className={styles["head"]}>
      <span className={styles["face"]} aria-hidden="true">
        {name === "" ? "" : initialsOf(name)}
      </span>
      <div className={styles["headText"]}>
        <h2 className={styles["business"]}>
          <bdi>{name}</bdi>
        </h2>
        <p className={styles["headMore"]} aria-live="polite">
          {types ? words.types : words.business}
        </p>
      </div>
      {conversation !== null && (
        <ActionIcon className={styles["toInbox"]} variant="transparent" aria-label={words.inInbox} title={words.inInbox} onClick={() => goTo(conversation)}>
          <Chats />
        </ActionIcon>
      )}
    </header>
  );
}

interface MessagesProps {
  readonly lines: readonly Line[] | null;
  readonly business: string;
  readonly phone: string;
}

function Messages({ lines, business, phone }: MessagesProps) {
  const frame = useRef<HTMLDivElement>(null);
  const last = lines?.at(-1);
  useLayoutEffect(() => toEnd(frame.current), [last?.wamid, lines === null]);
  useEffect(() => {
    const shrunk = new ResizeObserver(() => toEnd(frame.current));
    if (frame.current) shrunk.observe(frame.current);
    return () => shrunk.disconnect();
  }, []);
  const answered = answeredIn(lines ?? []);
  return (
    <div ref={frame} className={styles["messages"]} role="log" aria-label={words.messages(business)} tabIndex={0}>
      {lines === null && <p className={styles["note"]}>{words.loading}</p>}
      {lines?.length === 0 && <p className={styles["note"]}>{words.empty}</p>}
      {lines?.map((line, place) => (
        <Dated key={line.wamid} line={line} before={lines[place - 1]}>
          <Bubble line={line} phone={phone} quoted={quotedBy(line, lines)} answered={answered.has(line.wamid)} />
        </Dated>
      ))}
    </div>
  );
}

function toEnd(frame: HTMLElement | null): void {
  if (frame) frame.scrollTop = frame.scrollHeight;
}

function Dated({ line, before, children }: { readonly line: Line; readonly before: Line | undefined; readonly children: ReactNode }) {
  const isNewDay = before === undefined || dayOf(before.at) !== dayOf(line.at);
  return (
    <>
      {isNewDay && <p className={styles["note"]}>{dayLabel(line.at, new Date())}</p>}
      {children}
    </>
  );
}

/** Marks messages as read while the phone is visible. */
function useReading(phone: string, lines: readonly Line[] | null, reads: boolean): void {
  const latest = reads ? lines?.findLast(({ from, status }) => from === "business" && status === "delivered")?.wamid : undefined;
  useEffect(() => {
    if (latest === undefined) return;
    const timer = setTimeout(() => {
      if (!document.hidden) void readAll(phone).catch(() => undefined);
    }, GLANCE_MS);
    return () => clearTimeout(timer);
  }, [phone, latest]);
}

/** Marks the first steps that are completed on the phone. */
function useSteps(lines: readonly Line[] | null): void {
  const wrote = useProgress().done.includes("write");
  const before = useRef<string>(undefined);
  useEffect(() => {
    if (!wrote) before.current = lines?.at(-1)?.wamid;
    else if (lines?.slice(lines.findIndex(({ wamid }) => wamid === before.current) + 1).some(({ from }) => from === "business")) markDone("bot");
  }, [wrote, lines]);
}
