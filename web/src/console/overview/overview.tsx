/** The overview: throughput, latency, health and invariant checks. */

import { SegmentedControl } from "@mantine/core";

import { go, useAddress } from "../../path";
import { call, useApiQuery } from "../api";
import { QueryState, Curl, exactly, Page } from "../kit";
import { words } from "../texts";
import { Charts } from "./charts";
import { isCut, type Overview as Answer } from "./figures";
import { Invariants } from "./invariants";
import styles from "./overview.module.css";
import { HealthPanel } from "./health";
import { texts } from "./texts";
import { Figures } from "./tiles";
import { WaitingPanel } from "./waiting";

const EVERY_MS = 5_000;
const SPANS = ["15", "60", "180"];
const USUAL = "60";

export default function Overview() {
  const asked = useAddress(({ search }) => new URLSearchParams(search).get("minutes"));
  const span = asked !== null && SPANS.includes(asked) ? asked : USUAL;
  const request = call("get", "/api/v1/overview", { query: { minutes: Number(span) } });
  const result = useApiQuery(request, { everyMs: EVERY_MS, keep: true });
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
          <Curl call={request} cli="waypost doctor" />
        </>
      }
    >
      <QueryState query={result}>{(found) => <Content overview={found} cut={!result.isPlaceholderData && isCut(found, Number(span))} />}</QueryState>
    </Page>
  );
}

function Content({ overview, cut }: { readonly overview: Answer; readonly cut: boolean }) {
  const gates = useApiQuery(call("get", "/api/v1/outbound/gates"), { everyMs: EVERY_MS }).data?.content ?? [];
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
        <HealthPanel parts={overview.parts} gates={gates} />
        <div className={styles["column"]}>
          <WaitingPanel waiting={overview.waiting} />
          <Invariants invariants={overview.invariants} at={overview.at} />
        </div>
      </div>
    </>
  );
}
