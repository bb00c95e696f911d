/** The state that a device stores: its feed position and every message without a response. */

import type { Cursors, Outgoing } from "./types.js";
import type { KeyValue } from "./storage.js";

export interface FeedPosition {
  readonly epoch: string;
  readonly cursors: Cursors;
}

interface Alive {
  readonly user: string;
  readonly at: number;
}

/** A device that has not marked itself alive for this long is considered closed. */
export const GONE_AFTER_MS = 15_000;

export class Store {
  readonly #storage: KeyValue;
  readonly #device: string;
  #last = 0;
  readonly #keys = new Map<string, string>();

  constructor(storage: KeyValue, device: string) {
    this.#storage = storage;
    this.#device = device;
  }

  feedPosition(): FeedPosition | null {
    return this.#read<FeedPosition>(this.#key(this.#device, "place"));
  }

  saveFeedPosition(position: FeedPosition): void {
    this.#storage.setItem(this.#key(this.#device, "place"), JSON.stringify(position));
  }

  /** Oldest first. */
  outgoing(): readonly Outgoing[] {
    return this.#outgoingKeys(this.#device).flatMap((key) => {
      const message = this.#read<Outgoing>(key);
      if (message === null) return [];
      this.#keys.set(message.client_message_id, key);
      this.#last = Math.max(this.#last, Number(key.slice(key.lastIndexOf(":") + 1)) || 0);
      return [message];
    });
  }

  /** One entry per message, so that adding one costs the same for any queue length. */
  add(message: Outgoing): void {
    const key = this.#key(this.#device, "out", String(this.#last + 1).padStart(12, "0"));
    this.#storage.setItem(key, JSON.stringify(message));
    this.#last += 1;
    this.#keys.set(message.client_message_id, key);
  }

  remove(client_message_id: string): void {
    const key = this.#keys.get(client_message_id);
    this.#keys.delete(client_message_id);
    if (key !== undefined) this.#storage.removeItem(key);
  }

  /** For other tabs of this user: this tab is open. */
  markAlive(user: string, at: number): void {
    this.#storage.setItem(this.#key(this.#device, "alive"), JSON.stringify({ user, at } satisfies Alive));
  }

  /** Takes over the queues of closed devices of the same user. */
  adopt(user: string, now: number): readonly Outgoing[] {
    const gone = this.#devices().filter((device) => device !== this.#device && this.#isGone(device, user, now));
    return gone.flatMap((device) => this.#takeOver(device));
  }

  #isGone(device: string, user: string, now: number): boolean {
    const alive = this.#read<Alive>(this.#key(device, "alive"));
    return alive !== null && alive.user === user && now - alive.at >= GONE_AFTER_MS;
  }

  #takeOver(device: string): readonly Outgoing[] {
    const messages: Outgoing[] = [];
    for (const key of this.#outgoingKeys(device)) {
      const message = this.#read<Outgoing>(key);
      if (message !== null && !this.#keys.has(message.client_message_id)) {
        this.add(message); // added before it is removed: a crash in between leaves it twice, sent once
        messages.push(message);
      }
      this.#storage.removeItem(key);
    }
    for (const name of ["alive", "place"]) this.#storage.removeItem(this.#key(device, name));
    return messages;
  }

  #key(device: string, ...rest: string[]): string {
    return ["waypost", encodeURIComponent(device), ...rest].join(":");
  }

  #outgoingKeys(device: string): string[] {
    return this.#allKeys(`${this.#key(device, "out")}:`).sort();
  }

  #devices(): string[] {
    const alive = this.#allKeys("waypost:").filter((key) => key.endsWith(":alive"));
    return alive.map((key) => decodeURIComponent(key.split(":")[1] ?? ""));
  }

  #allKeys(prefix: string): string[] {
    const keys = Array.from({ length: this.#storage.length }, (_, index) => this.#storage.key(index));
    return keys.filter((key): key is string => key?.startsWith(prefix) === true);
  }

  /** Null also for a value that is not valid JSON. */
  #read<Value>(key: string): Value | null {
    try {
      return JSON.parse(this.#storage.getItem(key) ?? "null") as Value | null;
    } catch {
      return null;
    }
  }
}
