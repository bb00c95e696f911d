/** Date and time formats. */

import { texts } from "./texts";

const DAY_MS = 86_400_000;

/** Cached by locale: creating a formatter is slow, and lists need one for every row. */
function written(how: Intl.DateTimeFormatOptions): (date: Date, locale?: string) => string {
  const made = new Map<string | undefined, Intl.DateTimeFormat>();
  return (date, locale) => {
    const format = made.get(locale) ?? new Intl.DateTimeFormat(locale, how);
    made.set(locale, format);
    return format.format(date);
  };
}

const clock = written({ hour: "2-digit", minute: "2-digit" });
const weekday = written({ weekday: "long" });
const shortWeekday = written({ weekday: "short" });
const day = written({ day: "numeric", month: "long" });
const dayOfYear = written({ day: "numeric", month: "long", year: "numeric" });
const shortDay = written({ day: "numeric", month: "short" });

/** Equal for all times of one local day. */
export const dayOf = (moment: string | Date): string => {
  const date = new Date(moment);
  return `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
};

const daysAgo = (date: Date, now: Date): number =>
  Math.round((startOfDay(now).getTime() - startOfDay(date).getTime()) / DAY_MS);

const startOfDay = (date: Date): Date => new Date(date.getFullYear(), date.getMonth(), date.getDate());

/** For a separator: today, yesterday, a recent weekday, otherwise the date. */
export function dayLabel(moment: string, now: Date, locale?: string): string {
  const date = new Date(moment);
  const ago = daysAgo(date, now);
  if (ago === 0) return texts.thread.today;
  if (ago === 1) return texts.thread.yesterday;
  if (ago > 1 && ago < 7) return weekday(date, locale);
  return (date.getFullYear() === now.getFullYear() ? day : dayOfYear)(date, locale);
}

export const clockTime = (moment: string, locale?: string): string => clock(new Date(moment), locale);

/** Within a sentence. */
export function dayAndTime(moment: string, now: Date, locale?: string): string {
  const time = clockTime(moment, locale);
  return daysAgo(new Date(moment), now) === 0 ? time : `${shortMoment(moment, now, locale)}, ${time}`;
}

/** In a list: the time if today, otherwise the day. */
export function shortMoment(moment: string, now: Date, locale?: string): string {
  const date = new Date(moment);
  const ago = daysAgo(date, now);
  if (ago === 0) return clockTime(moment, locale);
  if (ago === 1) return texts.thread.yesterday;
  if (ago > 1 && ago < 7) return shortWeekday(date, locale);
  return shortDay(date, locale);
}
