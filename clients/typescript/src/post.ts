/** The outgoing queue: each message is stored, then sent, one at a time per conversation, until the server responds. */

import { Alarm, type Clock } from "./clock.js";
import { WaypostError } from "./errors.js";
import type { Store } from "./store.js";
import type { WebSocketConnection } from "./websocket.js";
import { LARGEST_FRAME, type Message, type Outgoing, type Sent } from "./types.js";
import { reconnectDelay } from "./reconnect.js";
import { nextMove, type SendResult } from "./sending.js";
import type { Timings } from "./timing.js";

export const MOST_QUEUED = 1_000;

/** Progress of an outgoing message. */
export type OutgoingChange =
  | { readonly change: "queued"; readonly message: Outgoing }
  | { readonly change: "trying"; readonly message: Outgoing; readonly path: "socket" | "rest" }
  | { readonly change: "sent"; readonly message: Outgoing; readonly sent: Sent }
  | { readonly change: "refused"; readonly message: Outgoing; readonly code: string };

/** The transports available at this moment. */
export interface Transports {
  /** A socket that has received its `welcome`. */
  readonly socket: WebSocketConnection | null;
  readonly polling: boolean;
}

export interface MessageSenderOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timings: Timings;
  readonly transports: () => Transports;
  readonly post: (message: Outgoing) => Promise<SendResult>;
  readonly emit: (change: OutgoingChange) => void;
}

interface PendingSend {
  readonly message: Outgoing;
  readonly promise: Promise<Sent>;
  readonly resolve: (sent: Sent) => void;
  readonly reject: (error: WaypostError) => void;
  readonly fitsASocket: boolean;
  attemptedOn: WebSocketConnection | null;
  tries: number;
  /** Sockets that closed while this message was in flight on them. */
  broke: number;
  /** When the message was first due, or last attempted. */
  since: number;
  notBefore: number;
  failures: number;
  posting: boolean;
}

interface ConversationQueue {
  readonly sends: PendingSend[];
  readonly alarm: Alarm;
}

export class MessageSender {
  readonly #options: MessageSenderOptions;
  readonly #queues = new Map<string, ConversationQueue>();
  readonly #pending = new Map<string, PendingSend>();
  /** Ids with a response, the latest thousand. */
  readonly #settled = new Set<string>();
  #running = false;
  #stopped = false;

  constructor(options: MessageSenderOptions) {
    this.#options = options;
    for (const message of options.store.outgoing()) this.#enqueue(message);
  }

  /** Oldest first. */
  get queue(): readonly Outgoing[] {
    return [...this.#pending.values()].map(({ message }) => message);
  }

  /** The number of conversations with queued messages. */
  get activeConversations(): number {
    return this.#queues.size;
  }

  start(): void {
    this.#running = true;
    this.wake();
  }

  /** Messages without a response stay stored; their promises are rejected. */
  stop(): void {
    this.#running = false;
    this.#stopped = true;
    for (const { alarm } of this.#queues.values()) alarm.clear();
    for (const { reject } of this.#pending.values()) reject(stopped());
  }

  send(message: Outgoing): Promise<Sent> {
    if (this.#pending.has(message.client_message_id))
      return Promise.reject(new WaypostError("client_message_id_in_use"));
    if (this.#pending.size >= MOST_QUEUED) return Promise.reject(new WaypostError("queue_full"));
    try {
      this.#options.store.add(message);
    } catch (error) {
      return Promise.reject(new WaypostError("not_kept", String(error)));
    }
    return this.#accept(message);
  }

  /** Queues messages of another device of this user, already stored. */
  adopt(messages: readonly Outgoing[]): void {
    for (const message of messages) void this.#accept(message);
  }

  /** The connection changed, so another transport may be available. */
  wake(): void {
    for (const queue of this.#queues.values()) this.#advance(queue);
  }

  /** The user's own item is equivalent to an ack, unless the id was reused: the item may be an earlier message. */
  confirmByItem({ client_message_id, message_id, position }: Message): void {
    if (client_message_id === null || this.#settled.has(client_message_id)) return;
    this.applyResult(client_message_id, { is: "sent", message_id, position, duplicate: false });
  }

  applyResult(client_message_id: string, result: SendResult): void {
    const pending = this.#pending.get(client_message_id);
    if (pending === undefined) return;
    if (result.is === "later") this.#postpone(pending, result.ms);
    else if (result.is !== "stop") this.#settle(pending, result);
    const queue = this.#queues.get(pending.message.conversation_id);
    if (queue !== undefined) this.#advance(queue);
  }

  #accept(message: Outgoing): Promise<Sent> {
    const { promise, reject } = this.#enqueue(message);
    this.#options.emit({ change: "queued", message });
    if (this.#stopped) reject(stopped());
    this.#advance(this.#queueOf(message));
    return promise;
  }

  #enqueue(message: Outgoing): PendingSend {
    const pending = pendingSend(message, this.#options.clock.now());
    this.#pending.set(message.client_message_id, pending);
    this.#queueOf(message).sends.push(pending);
    return pending;
  }

  #queueOf({ conversation_id }: Outgoing): ConversationQueue {
    const queue = this.#queues.get(conversation_id) ?? { sends: [], alarm: new Alarm(this.#options.clock) };
    this.#queues.set(conversation_id, queue);
    return queue;
  }

  #dropQueue({ conversation_id }: Outgoing, queue: ConversationQueue): void {
    queue.alarm.clear();
    this.#queues.delete(conversation_id);
  }

  #advance(queue: ConversationQueue): void {
    const first = queue.sends[0];
    queue.alarm.clear();
    if (first === undefined || first.posting || !this.#running) return;
    const { clock, timings, transports } = this.#options;
    const { socket, polling } = transports();
    if (first.attemptedOn !== null && first.attemptedOn !== socket) {
      Object.assign(first, { attemptedOn: null, tries: 0, broke: first.broke + 1 });
    }
    const now = clock.now();
    const progress = {
      socket: socket !== null,
      polling: polling || !first.fitsASocket,
      tries: first.tries,
      waited: now - first.since,
      not_before: Math.max(0, first.notBefore - now),
      broke: first.broke,
    };
    const move = nextMove(progress, timings.ack_timeout);
    if ("wait" in move) queue.alarm.set(move.wait, () => this.#advance(queue));
    else if (move.go === "socket" && socket !== null) this.#sendBySocket(queue, first, socket);
    else void this.#sendByRest(first, move.go === "rest" && move.drop_socket === true ? socket : null);
  }

  #sendBySocket(queue: ConversationQueue, first: PendingSend, socket: WebSocketConnection): void {
    const { clock, timings, emit } = this.#options;
    Object.assign(first, { attemptedOn: socket, tries: first.tries + 1, since: clock.now() });
    queue.alarm.set(timings.ack_timeout, () => this.#advance(queue));
    emit({ change: "trying", message: first.message, path: "socket" });
    socket.send({ type: "send", ...first.message });
  }

  async #sendByRest(first: PendingSend, deadSocket: WebSocketConnection | null): Promise<void> {
    const { clock, post, emit } = this.#options;
    Object.assign(first, { posting: true, since: clock.now() });
    deadSocket?.drop();
    emit({ change: "trying", message: first.message, path: "rest" });
    const result = await post(first.message);
    first.posting = false;
    this.applyResult(first.message.client_message_id, result);
  }

  #postpone(pending: PendingSend, ms: number): void {
    if (pending.posting) return;
    const { clock, random, timings } = this.#options;
    const notBefore = clock.now() + Math.max(ms, reconnectDelay(pending.failures, random(), timings));
    const failures = pending.failures + 1;
    Object.assign(pending, { notBefore, since: -Infinity, attemptedOn: null, tries: 0, failures });
  }

  #settle(pending: PendingSend, result: SendResult & { is: "sent" | "refused" }): void {
    const { message } = pending;
    const queue = this.#queueOf(message);
    queue.sends.splice(queue.sends.indexOf(pending), 1);
    if (queue.sends.length === 0) this.#dropQueue(message, queue);
    this.#pending.delete(message.client_message_id);
    this.#remember(message.client_message_id);
    if (queue.sends[0] !== undefined) queue.sends[0].since = this.#options.clock.now();
    this.#report(pending, result);
    // Removed last: after a crash in between, the result is reported twice rather than never.
    this.#options.store.remove(message.client_message_id);
  }

  #remember(client_message_id: string): void {
    this.#settled.add(client_message_id);
    const [oldest] = this.#settled;
    if (this.#settled.size > MOST_QUEUED && oldest !== undefined) this.#settled.delete(oldest);
  }

  #report({ message, resolve, reject }: PendingSend, result: SendResult & { is: "sent" | "refused" }): void {
    if (result.is === "refused") {
      reject(new WaypostError(result.code, result.detail));
      return this.#options.emit({ change: "refused", message, code: result.code });
    }
    const { message_id, position, duplicate } = result;
    const sent = { client_message_id: message.client_message_id, message_id, position, duplicate };
    resolve(sent);
    this.#options.emit({ change: "sent", message, sent });
  }
}

const stopped = (): WaypostError => new WaypostError("stopped", "the message is stored; the next start sends it");

function fitsASocket(message: Outgoing): boolean {
  return new TextEncoder().encode(JSON.stringify({ type: "send", ...message })).length <= LARGEST_FRAME;
}

function pendingSend(message: Outgoing, now: number): PendingSend {
  let resolve: (sent: Sent) => void = () => undefined;
  let reject: (error: WaypostError) => void = () => undefined;
  const promise = new Promise<Sent>((yes, no) => ([resolve, reject] = [yes, no]));
  promise.catch(() => undefined); // applications that only listen to `outgoing` do not handle the promise
  return {
    message,
    promise,
    resolve,
    reject,
    fitsASocket: fitsASocket(message),
    attemptedOn: null,
    tries: 0,
    broke: 0,
    since: now,
    notBefore: 0,
    failures: 0,
    posting: false,
  };
}
