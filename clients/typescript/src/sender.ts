/** The outgoing queue at work: kept first, one message of a conversation under way at a time, until it is answered. */

import { Alarm, type Clock } from "./clock.js";
import { WaypostError } from "./errors.js";
import type { Kept } from "./kept.js";
import type { Link } from "./link.js";
import { LARGEST_FRAME, type Message, type Outgoing, type Sent } from "./protocol.js";
import { pause } from "./returning.js";
import { nextMove, type Outcome } from "./sending.js";
import type { Timings } from "./timings.js";

export const MOST_WAITING = 1_000;

/** What happened to a message on its way out. */
export type OutgoingChange =
  | { readonly change: "queued"; readonly message: Outgoing }
  | { readonly change: "trying"; readonly message: Outgoing; readonly path: "socket" | "rest" }
  | { readonly change: "sent"; readonly message: Outgoing; readonly sent: Sent }
  | { readonly change: "refused"; readonly message: Outgoing; readonly code: string };

/** What can carry a message at this moment. */
export interface Ways {
  /** A socket past its `welcome`. */
  readonly link: Link | null;
  readonly polling: boolean;
}

export interface SenderOptions {
  readonly kept: Kept;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timings: Timings;
  readonly ways: () => Ways;
  readonly post: (message: Outgoing) => Promise<Outcome>;
  readonly tell: (change: OutgoingChange) => void;
}

interface Waiting {
  readonly message: Outgoing;
  readonly promise: Promise<Sent>;
  readonly resolve: (sent: Sent) => void;
  readonly reject: (error: WaypostError) => void;
  readonly fitsASocket: boolean;
  triedOn: Link | null;
  tries: number;
  /** Sockets that ended while it was under way on them. */
  broke: number;
  /** When it was first due, or last tried. */
  since: number;
  notBefore: number;
  failures: number;
  posting: boolean;
}

interface Lane {
  readonly queue: Waiting[];
  readonly alarm: Alarm;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #waiting = new Map<string, Waiting>();
  /** Ids that were answered, the latest thousand. */
  readonly #settled = new Set<string>();
  #running = false;
  #stopped = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    for (const message of options.kept.outgoing()) this.#enqueue(message);
  }

  /** Oldest first. */
  get queue(): readonly Outgoing[] {
    return [...this.#waiting.values()].map(({ message }) => message);
  }

  /** How many conversations something waits in. */
  get lanes(): number {
    return this.#lanes.size;
  }

  start(): void {
    this.#running = true;
    this.wake();
  }

  /** What was not answered stays kept; who waits for it is told. */
  stop(): void {
    this.#running = false;
    this.#stopped = true;
    for (const { alarm } of this.#lanes.values()) alarm.clear();
    for (const { reject } of this.#waiting.values()) reject(stopped());
  }

  send(message: Outgoing): Promise<Sent> {
    if (this.#waiting.has(message.client_message_id))
      return Promise.reject(new WaypostError("client_message_id_in_use"));
    if (this.#waiting.size >= MOST_WAITING) return Promise.reject(new WaypostError("queue_full"));
    try {
      this.#options.kept.add(message);
    } catch (error) {
      return Promise.reject(new WaypostError("not_kept", String(error)));
    }
    return this.#accept(message);
  }

  /** Takes what another device of this user left behind, kept already. */
  adopt(messages: readonly Outgoing[]): void {
    for (const message of messages) void this.#accept(message);
  }

  /** Something about the connection changed, so another way may be open. */
  wake(): void {
    for (const lane of this.#lanes.values()) this.#go(lane);
  }

  /** The own message came as an item: as good as an ack, unless the id was used before: it may be the first one. */
  shown({ client_message_id, message_id, position }: Message): void {
    if (client_message_id === null || this.#settled.has(client_message_id)) return;
    this.answered(client_message_id, { is: "sent", message_id, position, duplicate: false });
  }

  answered(client_message_id: string, outcome: Outcome): void {
    const waiting = this.#waiting.get(client_message_id);
    if (waiting === undefined) return;
    if (outcome.is === "later") this.#postpone(waiting, outcome.ms);
    else if (outcome.is !== "stop") this.#settle(waiting, outcome);
    const lane = this.#lanes.get(waiting.message.conversation_id);
    if (lane !== undefined) this.#go(lane);
  }

  #accept(message: Outgoing): Promise<Sent> {
    const { promise, reject } = this.#enqueue(message);
    this.#options.tell({ change: "queued", message });
    if (this.#stopped) reject(stopped());
    this.#go(this.#laneOf(message));
    return promise;
  }

  #enqueue(message: Outgoing): Waiting {
    const waiting = aWaiting(message, this.#options.clock.now());
    this.#waiting.set(message.client_message_id, waiting);
    this.#laneOf(message).queue.push(waiting);
    return waiting;
  }

  #laneOf({ conversation_id }: Outgoing): Lane {
    const lane = this.#lanes.get(conversation_id) ?? { queue: [], alarm: new Alarm(this.#options.clock) };
    this.#lanes.set(conversation_id, lane);
    return lane;
  }

  #letGo({ conversation_id }: Outgoing, lane: Lane): void {
    lane.alarm.clear();
    this.#lanes.delete(conversation_id);
  }

  #go(lane: Lane): void {
    const first = lane.queue[0];
    lane.alarm.clear();
    if (first === undefined || first.posting || !this.#running) return;
    const { clock, timings, ways } = this.#options;
    const { link, polling } = ways();
    if (first.triedOn !== null && first.triedOn !== link) {
      Object.assign(first, { triedOn: null, tries: 0, broke: first.broke + 1 });
    }
    const now = clock.now();
    const situation = {
      socket: link !== null,
      polling: polling || !first.fitsASocket,
      tries: first.tries,
      waited: now - first.since,
      not_before: Math.max(0, first.notBefore - now),
      broke: first.broke,
    };
    const move = nextMove(situation, timings.ack_timeout);
    if ("wait" in move) lane.alarm.set(move.wait, () => this.#go(lane));
    else if (move.go === "socket" && link !== null) this.#onSocket(lane, first, link);
    else void this.#byRest(first, move.go === "rest" && move.drop_socket === true ? link : null);
  }

  #onSocket(lane: Lane, first: Waiting, link: Link): void {
    const { clock, timings, tell } = this.#options;
    Object.assign(first, { triedOn: link, tries: first.tries + 1, since: clock.now() });
    lane.alarm.set(timings.ack_timeout, () => this.#go(lane));
    tell({ change: "trying", message: first.message, path: "socket" });
    link.send({ type: "send", ...first.message });
  }

  async #byRest(first: Waiting, dead: Link | null): Promise<void> {
    const { clock, post, tell } = this.#options;
    Object.assign(first, { posting: true, since: clock.now() });
    dead?.drop();
    tell({ change: "trying", message: first.message, path: "rest" });
    const outcome = await post(first.message);
    first.posting = false;
    this.answered(first.message.client_message_id, outcome);
  }

  #postpone(waiting: Waiting, ms: number): void {
    if (waiting.posting) return;
    const { clock, random, timings } = this.#options;
    const notBefore = clock.now() + Math.max(ms, pause(waiting.failures, random(), timings));
    Object.assign(waiting, { notBefore, since: -Infinity, triedOn: null, tries: 0, failures: waiting.failures + 1 });
  }

  #settle(waiting: Waiting, outcome: Outcome & { is: "sent" | "refused" }): void {
    const { message } = waiting;
    const lane = this.#laneOf(message);
    lane.queue.splice(lane.queue.indexOf(waiting), 1);
    if (lane.queue.length === 0) this.#letGo(message, lane);
    this.#waiting.delete(message.client_message_id);
    this.#remember(message.client_message_id);
    if (lane.queue[0] !== undefined) lane.queue[0].since = this.#options.clock.now();
    this.#report(waiting, outcome);
    // Last: a crash in between tells it twice, never not at all.
    this.#options.kept.remove(message.client_message_id);
  }

  #remember(client_message_id: string): void {
    this.#settled.add(client_message_id);
    const [oldest] = this.#settled;
    if (this.#settled.size > MOST_WAITING && oldest !== undefined) this.#settled.delete(oldest);
  }

  #report({ message, resolve, reject }: Waiting, outcome: Outcome & { is: "sent" | "refused" }): void {
    if (outcome.is === "refused") {
      reject(new WaypostError(outcome.code, outcome.detail));
      return this.#options.tell({ change: "refused", message, code: outcome.code });
    }
    const { message_id, position, duplicate } = outcome;
    const sent = { client_message_id: message.client_message_id, message_id, position, duplicate };
    resolve(sent);
    this.#options.tell({ change: "sent", message, sent });
  }
}

const stopped = (): WaypostError => new WaypostError("stopped", "kept, and sent by the next start");

function fitsASocket(message: Outgoing): boolean {
  return new TextEncoder().encode(JSON.stringify({ type: "send", ...message })).length <= LARGEST_FRAME;
}

function aWaiting(message: Outgoing, now: number): Waiting {
  let resolve: (sent: Sent) => void = () => undefined;
  let reject: (error: WaypostError) => void = () => undefined;
  const promise = new Promise<Sent>((yes, no) => ([resolve, reject] = [yes, no]));
  promise.catch(() => undefined); // who only listens to `outgoing` need not catch
  return {
    message,
    promise,
    resolve,
    reject,
    fitsASocket: fitsASocket(message),
    triedOn: null,
    tries: 0,
    broke: 0,
    since: now,
    notBefore: 0,
    failures: 0,
    posting: false,
  };
}
