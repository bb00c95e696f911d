/** What the machine is doing now, and whether all of it is well. */

import { SegmentedControl } from "@mantine/core";

import { go, useAddress } from "../../path";
import { call, useAnswer } from "../api";
import { Answered, Curl, exactly, Page } from "../kit";
import { words } from "../texts";
import { Charts } from "./charts";
import { isCut, type Overview as Answer } from "./figures";
import { Invariants } from "./invariants";
import styles from "./overview.module.css";
import { Parts } from "./parts";
import { texts } from "./texts";
import { Figures } from "./tiles";
import { WhatWaits } from "./what-waits";

const EVERY_MS = 5_000;
const SPANS = ["15", "60", "180"];
const USUAL = "60";

export default function Overview() {
  const asked = useAddress(({ search }) => new URLSearchParams(search).get("minutes"));
  const span = asked !== null && SPANS.includes(asked) ? asked : USUAL;
  const asking = call("get", "/api/v1/overview", { query: { minutes: Number(span) } });
  const answer = useAnswer(asking, { everyMs: EVERY_MS, keep: true });
  return (
    <Page
      title={words.pages.overview}
      intro={texts.intro}
      actions={
        <>
          <SegmentedControl
            size="xs"
            value={span}
            onChange={(minutes) => go(`/console/overview?minutes=${minutes}`, "replace")}
            data={SPANS.map((value) => ({ value, label: texts.spans[value] ?? value }))}
            aria-label={texts.span}
            transitionDuration={0}
          />
          <Curl call={asking} cli="waypost doctor" />
        </>
      }
    >
      <Answered to={answer}>{(found) => <Shown overview={found} cut={!answer.isPlaceholderData && isCut(found, Number(span))} />}</Answered>
    </Page>
  );
}

function Shown({ overview, cut }: { readonly overview: Answer; readonly cut: boolean }) {
  const gates = useAnswer(call("get", "/api/v1/outbound/gates"), { everyMs: EVERY_MS }).data?.content ?? [];
  return (
    <>
      {cut && (
        <p className={styles["note"]} title={exactly(overview.since)}>
          {texts.cut(overview.looked_at_most.toLocaleString(), new Date(overview.since).toLocaleTimeString())}
        </p>
      )}
      <Figures overview={overview} />
      <Charts overview={overview} />
      <div className={styles["panels"]}>
        <Parts parts={overview.parts} gates={gates} />
        <div className={styles["column"]}>
          <WhatWaits waiting={overview.waiting} />
          <Invariants invariants={overview.invariants} at={overview.at} />
        </div>
      </div>
    </>
  );
}
