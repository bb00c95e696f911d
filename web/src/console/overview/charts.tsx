/** Charts of throughput, queue age and latency. */

import { useMemo } from "react";

import { Chart, lasting, type Series } from "../kit";
import { momentsOf, perMinute, type Overview } from "./figures";
import styles from "./overview.module.css";
import { texts } from "./texts";

const { charts, tiles } = texts;
const rate = (value: number): string => (value < 10 ? String(Math.round(value * 10) / 10) : Math.round(value).toLocaleString());
const time = (value: number): string => (value === 0 ? "0" : lasting(value));

export function Charts({ overview: { steps, step_seconds } }: { readonly overview: Overview }) {
  const times = useMemo(() => momentsOf(steps), [steps]);
  const flow = useMemo<Series[]>(() => {
    const line = (name: string, colour: Series["colour"], of: "received" | "sent" | "delivered" | "failed"): Series => ({
      name,
      colour,
      values: perMinute(steps, of, step_seconds),
    });
    return [
      line(tiles.received, 1, "received"),
      line(tiles.sent, 2, "sent"),
      line(tiles.delivered, 3, "delivered"),
      line(tiles.failed, 4, "failed"),
    ];
  }, [steps, step_seconds]);
  const age = useMemo<Series[]>(() => [{ name: charts.ageOf, colour: 2, values: steps.map((step) => step.queue_age_seconds) }], [steps]);
  const sending = useMemo(() => spreadOf(steps.map((step) => step.queued_to_sent_seconds)), [steps]);
  const arriving = useMemo(() => spreadOf(steps.map((step) => step.sent_to_delivered_seconds)), [steps]);
  return (
    <div className={styles["charts"]} role="group" aria-label={charts.label}>
      <Chart title={charts.flow} times={times} series={flow} format={rate} least={4} />
      <Chart title={charts.age} times={times} series={age} format={time} least={10} />
      <Chart title={charts.sending} times={times} series={sending} format={time} least={1} />
      <Chart title={charts.arriving} times={times} series={arriving} format={time} least={1} />
    </div>
  );
}

const spreadOf = (spreads: readonly { readonly p50: number | null; readonly p95: number | null }[]): Series[] => [
  { name: charts.most, colour: 2, values: spreads.map(({ p95 }) => p95), dots: true },
  { name: charts.half, colour: 1, values: spreads.map(({ p50 }) => p50), dots: true },
];
