/** What this tab stores: its device ID and its unsent messages. */

import { WaypostClient, type KeyValue } from "@waypost/client";

const DEVICE = "waypost-device";

/** Each tab is a separate device. */
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

/** Unsent messages are stored in the browser, for the next tab. */
export const clientOf = (deviceId: string): WaypostClient =>
  new WaypostClient({ url: location.origin, deviceId, storage: new UnsentOnly(localStorage) });

/**
 * Local storage, except for the feed position: a reloaded page has an empty screen and reads everything,
 * so it starts from that reading.
 */
export class UnsentOnly implements KeyValue {
  readonly #storage: KeyValue;

  constructor(storage: KeyValue) {
    this.#storage = storage;
  }

  get length(): number {
    return this.#storage.length;
  }

  key(index: number): string | null {
    return this.#storage.key(index);
  }

  getItem(key: string): string | null {
    return isFeedPosition(key) ? null : this.#storage.getItem(key);
  }

  setItem(key: string, value: string): void {
    if (!isFeedPosition(key)) this.#storage.setItem(key, value);
  }

  removeItem(key: string): void {
    this.#storage.removeItem(key);
  }
}

const isFeedPosition = (key: string): boolean => key.endsWith(":place");
