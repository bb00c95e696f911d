/** What this tab keeps: its own name, and what it has not sent yet. */

import { WaypostClient, type KeyValue } from "@waypost/client";

const DEVICE = "waypost-device";

/** One tab's own: a second tab is another device. */
export function deviceId(): string {
  const known = sessionStorage.getItem(DEVICE);
  if (known !== null) return known;
  return newDeviceId();
}

export function newDeviceId(): string {
  const made = `web-${crypto.randomUUID()}`;
  sessionStorage.setItem(DEVICE, made);
  return made;
}

/** What is not sent is kept by the browser, for whichever tab comes next. */
export const clientOf = (deviceId: string): WaypostClient =>
  new WaypostClient({ url: location.origin, deviceId, storage: new UnsentOnly(localStorage) });

/**
 * Local storage, but for the place in the feeds: a page that is loaded anew has nothing on its screen and reads
 * everything, so it begins where that reading begins.
 */
export class UnsentOnly implements KeyValue {
  readonly #kept: KeyValue;

  constructor(kept: KeyValue) {
    this.#kept = kept;
  }

  get length(): number {
    return this.#kept.length;
  }

  key(index: number): string | null {
    return this.#kept.key(index);
  }

  getItem(key: string): string | null {
    return isPlace(key) ? null : this.#kept.getItem(key);
  }

  setItem(key: string, value: string): void {
    if (!isPlace(key)) this.#kept.setItem(key, value);
  }

  removeItem(key: string): void {
    this.#kept.removeItem(key);
  }
}

const isPlace = (key: string): boolean => key.endsWith(":place");
