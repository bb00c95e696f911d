/** The totals of the time range. */

import { lasting, Tile, Tiles } from "../kit";
import { words } from "../texts";
import { count, oldest, total, type Overview } from "./figures";
import { texts } from "./texts";

const { tiles } = texts;
const LONG_WAIT_SECONDS = 60;
const COUNTED = 10_000;

export function Figures({ overview }: { readonly overview: Overview }) {
  const { steps, waiting, counts, at } = overview;
  const age = oldest(waiting, at);
  const failed = total(steps, "failed");
  const dead = counts["FAILED"] ?? 0;
  return (
    <Tiles>
      <Tile label={tiles.received} value={total(steps, "received").toLocaleString()} />
      <Tile label={tiles.sent} value={total(steps, "sent").toLocaleString()} />
      <Tile label={tiles.delivered} value={total(steps, "delivered").toLocaleString()} />
      <Tile label={tiles.failed} value={failed.toLocaleString()} {...(failed > 0 && { mood: "bad" })} />
      <Tile
        label={tiles.waiting}
        value={count(waiting).toLocaleString()}
        hint={age === null ? tiles.nothingWaits : tiles.oldest(lasting(age))}
        {...(age !== null && age > LONG_WAIT_SECONDS && { mood: "busy" })}
      />
      <Tile label={tiles.deadLetters} value={dead >= COUNTED ? tiles.many(dead.toLocaleString()) : dead.toLocaleString()} hint={tiles.deadHint} />
      <TimeTile label={tiles.sending} spread={overview.queued_to_sent_seconds} />
      <TimeTile label={tiles.arriving} spread={overview.sent_to_delivered_seconds} />
    </Tiles>
  );
}

function TimeTile({ label, spread }: { readonly label: string; readonly spread: Overview["queued_to_sent_seconds"] }) {
  const { p50, p95 } = spread;
  return <Tile label={label} value={p50 === null ? words.none : lasting(p50)} hint={p95 === null ? tiles.half : tiles.most(lasting(p95))} />;
}
