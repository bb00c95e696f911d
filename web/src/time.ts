/** Moments as people read them. */

import { texts } from "./texts";

const DAY_MS = 86_400_000;

/** The same for all moments of one local day. */
export const dayOf = (moment: string | Date): string => {
  const date = new Date(moment);
  return `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
};

const daysAgo = (date: Date, now: Date): number =>
  Math.round((startOfDay(now).getTime() - startOfDay(date).getTime()) / DAY_MS);

const startOfDay = (date: Date): Date => new Date(date.getFullYear(), date.getMonth(), date.getDate());

/** Of a separator: today, yesterday, the weekday of the last days, else the date. */
export function dayLabel(moment: string, now: Date, locale?: string): string {
  const date = new Date(moment);
  const ago = daysAgo(date, now);
  if (ago === 0) return texts.thread.today;
  if (ago === 1) return texts.thread.yesterday;
  if (ago > 1 && ago < 7) return date.toLocaleDateString(locale, { weekday: "long" });
  const sameYear = date.getFullYear() === now.getFullYear();
  return date.toLocaleDateString(locale, { day: "numeric", month: "long", ...(sameYear ? {} : { year: "numeric" }) });
}

export const clockTime = (moment: string, locale?: string): string =>
  new Date(moment).toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit" });

/** Within a sentence. */
export function dayAndTime(moment: string, now: Date, locale?: string): string {
  const time = clockTime(moment, locale);
  return daysAgo(new Date(moment), now) === 0 ? time : `${shortMoment(moment, now, locale)}, ${time}`;
}

/** In a list: the time of today, else the day. */
export function shortMoment(moment: string, now: Date, locale?: string): string {
  const date = new Date(moment);
  const ago = daysAgo(date, now);
  if (ago === 0) return clockTime(moment, locale);
  if (ago === 1) return texts.thread.yesterday;
  if (ago > 1 && ago < 7) return date.toLocaleDateString(locale, { weekday: "short" });
  return date.toLocaleDateString(locale, { day: "numeric", month: "short" });
}
