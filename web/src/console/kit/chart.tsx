/** A line chart, drawn by uPlot; the legend is text. */

import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useId, useRef, useState } from "react";
import uPlot from "uplot";

import "uplot/dist/uPlot.min.css";

import { words } from "../texts";
import styles from "./chart.module.css";

export interface Series {
  readonly name: string;
  /** One of the four chart colours. */
  readonly colour: 1 | 2 | 3 | 4;
  readonly values: readonly (number | null)[];
  /** Draws a dot for each value, for sparse data. */
  readonly dots?: boolean;
}

interface Props {
  readonly title: string;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** The minimum range of the axis, so that small values look small. */
  readonly least: number;
}

const HEIGHT = 180;
/** Name, colour, dots. */
type Kind = [string, number, boolean];

export function Chart({ title, times, series, format, least }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | null>(null);
  const formatting = useRef(format);
  formatting.current = format;
  const [at, setAt] = useState<number | null>(null);
  const scheme = useComputedColorScheme("light");
  const id = useId();
  const shape = JSON.stringify(series.map(({ name, colour, dots = false }) => [name, colour, dots] satisfies Kind));
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const kinds = JSON.parse(shape) as Kind[];
    const chart = new uPlot(options(element, kinds, least, (value) => formatting.current(value), setAt), [[]], element);
    drawn.current = chart;
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      chart.destroy();
      drawn.current = null;
    };
  }, [scheme, shape, least]);
  useEffect(() => {
    drawn.current?.setData([[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData);
  }, [times, series, scheme, shape, least]);
  const shownAt = at !== null && at < times.length ? at : latest(series, times.length - 1);
  const moment = times[shownAt];
  return (
    <figure className={styles["chart"]} aria-labelledby={id}>
      <figcaption id={id} className={styles["title"]}>
        <span>{title}</span>
        <span className={styles["moment"]}>{moment !== undefined && clock(moment, times)}</span>
      </figcaption>
      <ul className={styles["legend"]}>
        {series.map(({ name, colour, values }) => {
          const value = values[shownAt] ?? null;
          return (
            <li key={name} data-colour={colour}>
              {name} <strong>{value === null ? words.none : format(value)}</strong>
            </li>
          );
        })}
      </ul>
      <div ref={place} className={styles["place"]} aria-hidden="true" />
    </figure>
  );
}

/** The last time with a value. */
function latest(series: readonly Series[], last: number): number {
  for (let index = last; index >= 0; index--) if (series.some(({ values }) => (values[index] ?? null) !== null)) return index;
  return last;
}

function clock(seconds: number, times: readonly number[]): string {
  const close = times.length > 1 && (times[1] ?? 0) - (times[0] ?? 0) < 60;
  return new Date(seconds * 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", ...(close && { second: "2-digit" }) });
}

function options(element: HTMLElement, kinds: readonly Kind[], least: number, format: (value: number) => string, onAt: (index: number | null) => void): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--ink-soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: `12px ${style.fontFamily}` };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(least, (most ?? 0) * 1.1)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, space: 70, values: (chart, splits) => splits.map((split) => clock(split, chart.data[0] as number[])) },
      { ...axis, size: 58, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...kinds.map(([label, number, dots]) => {
        const stroke = colour(`--series-${number}`);
        return { label, stroke, width: 2, spanGaps: false, points: { show: dots, size: 5, fill: stroke } };
      }),
    ],
    hooks: { setCursor: [({ cursor }) => onAt(cursor.idx ?? null)] },
  };
}
