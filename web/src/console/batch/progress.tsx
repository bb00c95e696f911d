/** The progress and results of a batch; rejected lines can be downloaded, fixed and sent again. */

import { Button, Progress } from "@mantine/core";

import { Panel, Tile, Tiles } from "../kit";
import styles from "./batch.module.css";
import { writeCsv } from "./csv";
import { useRunState } from "./current";
import { Lines } from "./results";
import type { Outcome, Run, State } from "./run";
import { words } from "./texts";

export function BatchProgress({ run, onAnother }: { readonly run: Run; readonly onAnother: () => void }) {
  const { state, outcomes } = useRunState(run);
  const counts = countsOf(outcomes);
  const leftOut = run.checked.length - run.total;
  const isBusy = run.isBusy();
  return (
    <>
      <Panel
        title={words.found(run.name, run.checked.length)}
        actions={
          <>
            {isBusy ? (
              <Button variant="default" disabled={state.name === "stopping"} onClick={run.stop}>
                {words.stop}
              </Button>
            ) : (
              state.name !== "finished" && <Button onClick={() => void run.go()}>{words.resume}</Button>
            )}
            {!isBusy && (
              <Button variant="default" onClick={onAnother}>
                {words.another}
              </Button>
            )}
          </>
        }
      >
        <div className={styles["progress"]}>
          <Progress.Root size="lg" aria-hidden="true">
            <Progress.Section value={(100 * outcomes.size) / Math.max(1, run.total)} aria-label={words.progress} />
          </Progress.Root>
          <p role="status">
            {words.done(outcomes.size, run.total)}. {stateText(state)}
          </p>
        </div>
        <Tiles>
          <Tile label={words.stored} value={counts.stored.toLocaleString()} />
          <Tile label={words.there} value={counts.there.toLocaleString()} />
          <Tile label={words.refusedCount} value={counts.refused.toLocaleString()} {...(counts.refused > 0 && { mood: "bad" })} />
          <Tile label={words.leftOut} value={leftOut.toLocaleString()} {...(leftOut > 0 && { mood: "busy" })} />
        </Tiles>
        {counts.refused + leftOut > 0 && (
          <Button variant="default" className={styles["start"] ?? ""} onClick={() => save(run, outcomes)}>
            {words.failures}
          </Button>
        )}
      </Panel>
      <Lines checked={run.checked} outcomes={outcomes} />
    </>
  );
}

function countsOf(outcomes: ReadonlyMap<number, Outcome>): Readonly<Record<Outcome["kind"], number>> {
  const counts = { stored: 0, there: 0, refused: 0 };
  for (const { kind } of outcomes.values()) counts[kind] += 1;
  return counts;
}

function stateText(state: State): string {
  if (state.name === "waiting") return words.states.waiting(state.seconds);
  if (state.name === "broken") return words.states.broken(state.reason);
  return words.states[state.name];
}

/** The rejected lines with their reasons; fixed and without the last two columns, the file can be sent again. */
function save(run: Run, outcomes: Run["current"]["outcomes"]): void {
  const failed = run.checked.flatMap(({ row, refused }) => {
    const outcome = outcomes.get(row.number);
    const reason = refused ?? (outcome?.kind === "refused" ? outcome.reason : null);
    return reason === null ? [] : [{ row, reason }];
  });
  const columns = [...new Set(failed.flatMap(({ row }) => Object.keys(row.cells)))];
  const lines = failed.map(({ row, reason }) => [...columns.map((name) => row.cells[name] ?? ""), String(row.number), reason]);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([writeCsv([[...columns, ...words.failuresColumns], ...lines])], { type: "text/csv" }));
  link.download = words.failuresName(run.name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}
