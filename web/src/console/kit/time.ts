/** Formats relative times and durations. */

import { words } from "../texts";

const { time } = words;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The time since or until a moment. */
export function agoWords(moment: string, now: number): string {
  const seconds = Math.round((now - new Date(moment).getTime()) / 1000);
  const away = Math.abs(seconds);
  const ahead = seconds < 0;
  if (away < 5) return time.now;
  if (away < MINUTE) return (ahead ? time.inSeconds : time.seconds)(away);
  if (away < HOUR) return (ahead ? time.inMinutes : time.minutes)(Math.floor(away / MINUTE));
  if (away < 2 * DAY) return (ahead ? time.inHours : time.hours)(Math.floor(away / HOUR));
  return (ahead ? time.inDays : time.days)(Math.floor(away / DAY));
}

export const exactly = (moment: string, locale?: string): string =>
  new Date(moment).toLocaleString(locale, { dateStyle: "medium", timeStyle: "medium" });

/** Two significant digits: 320 ms, 4.2 s, 38 s, 12 min. */
export function lasting(seconds: number): string {
  if (seconds < 1) return time.ms(Math.round(seconds * 1000));
  if (seconds < MINUTE) return time.s(short(seconds));
  if (seconds < HOUR) return time.min(short(seconds / MINUTE));
  if (seconds < 2 * DAY) return time.h(short(seconds / HOUR));
  return time.d(short(seconds / DAY));
}

const short = (count: number): string => (count < 9.95 ? count.toFixed(1).replace(/\.0$/, "") : String(Math.round(count)));
