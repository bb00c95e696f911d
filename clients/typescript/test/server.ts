/** An in-memory server with one user's feed, over real sockets, that misbehaves on request. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { WebSocketServer, type WebSocket } from "ws";

import type { ClientFrame, Conversation, Item, Message, Outgoing } from "../src/types.js";

export const ME = "u1";
export const OTHER = "u2";
export const ROOM = "room";
export const TOKEN = "a token";
export const FEED = `user:${ME}`;

type Frame = Readonly<Record<string, unknown>>;
type Body = Readonly<Record<string, unknown>>;

export class TestServer {
  readonly items: Item[] = [];
  readonly messages: Message[] = [];
  readonly frames: ClientFrame[] = [];
  readonly requests: string[] = [];
  readonly sockets = new Set<WebSocket>();
  epoch = "e1";
  heartbeat = 60_000;
  blockUpgrades = false;
  /** Accepts requests without a token, as for a browser with a cookie. */
  signedIn = false;
  /** Whether a frame is delivered to the client. */
  passes: (frame: Frame) => boolean = () => true;
  /** Overrides the server's response. */
  instead: (path: string) => { status: number; body: Body } | null = () => null;
  readFrom = 0;
  readonly #http: Server = createServer((request, response) => void this.#answer(request, response));
  readonly #upgrades = new WebSocketServer({ noServer: true });
  readonly #pollers = new Set<() => void>();

  async start(): Promise<this> {
    this.#http.on("upgrade", (request, socket, head) => {
      this.requests.push(`UPGRADE ${request.url ?? ""}`);
      socket.on("error", () => undefined); // the client may disconnect before the response
      if (this.blockUpgrades) return void socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
      this.#upgrades.handleUpgrade(request, socket, head, (accepted) => this.#welcome(accepted));
    });
    await new Promise<void>((listening) => this.#http.listen(0, "127.0.0.1", listening));
    return this;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    this.#http.closeAllConnections();
    await new Promise((closed) => this.#http.close(closed));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** The texts of all stored messages. */
  get texts(): unknown[] {
    return this.messages.map(({ content }) => content?.["text"]);
  }

  cut(code?: number): void {
    for (const socket of this.sockets) code === undefined ? socket.terminate() : socket.close(code);
  }

  broadcast(frame: Frame): void {
    for (const socket of this.sockets) this.#send(socket, frame);
  }

  otherPosts(text: string): void {
    this.#post({ client_message_id: `other ${text}`, conversation_id: ROOM, content: { type: "text", text } }, OTHER);
  }

  add(fields: Omit<Item, "feed" | "seq" | "prev">): void {
    const item = { ...fields, feed: FEED, seq: this.items.length + 1, prev: this.items.length } as Item;
    this.items.push(item);
    this.broadcast({ type: "item", ...item });
    for (const wake of this.#pollers) wake();
  }

  #send(socket: WebSocket, frame: Frame): void {
    if (this.passes(frame)) socket.send(JSON.stringify(frame));
  }

  #welcome(socket: WebSocket): void {
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
    socket.on("message", (data) => this.#onFrame(socket, JSON.parse(String(data)) as ClientFrame));
    socket.on("error", () => undefined);
  }

  #onFrame(socket: WebSocket, frame: ClientFrame): void {
    this.frames.push(frame);
    if (frame.type === "hello") this.#onHello(socket, frame);
    if (frame.type === "ping") this.#send(socket, { type: "pong", heads: this.#heads() });
    if (frame.type === "send") this.#send(socket, { type: "ack", ...this.#post(frame, ME) });
    if (frame.type === "read") this.#read();
  }

  #onHello(socket: WebSocket, hello: ClientFrame & { type: "hello" }): void {
    if (hello.token !== TOKEN && !this.signedIn) return socket.close(4401);
    const known = hello.epoch === undefined || hello.epoch === this.epoch;
    this.#send(socket, {
      type: "welcome",
      epoch: this.epoch,
      heads: this.#heads(),
      resumed: known,
      heartbeat_ms: this.heartbeat,
    });
    if (!known)
      this.#send(socket, { type: "resync_required", epoch: this.epoch, heads: this.#heads(), reason: "epoch" });
    const from = known ? (hello.cursors?.[FEED] ?? this.items.length) : this.items.length;
    for (const item of this.items.slice(from)) this.#send(socket, { type: "item", ...item });
    this.#send(socket, { type: "live" });
  }

  #post({ client_message_id, conversation_id, content }: Outgoing, sender_id: string): Frame {
    const same = this.messages.find(
      (message) => message.client_message_id === client_message_id && message.sender_id === sender_id,
    );
    const position = same?.position ?? this.messages.length + 1;
    const message_id = `m${position}`;
    if (same === undefined) {
      const message = {
        message_id,
        conversation_id,
        position,
        sender_id,
        client_message_id,
        content,
        timestamp: "",
        status: "sent",
      };
      this.messages.push(message);
      this.add({ kind: "message", conversation_id, message });
    }
    return { client_message_id, message_id, position, duplicate: same !== undefined };
  }

  #read(): void {
    this.readFrom = this.messages.length;
    this.add({ kind: "read", conversation_id: ROOM, user_id: ME });
  }

  #heads(): Record<string, number> {
    return { [FEED]: this.items.length };
  }

  #conversation(): Conversation {
    const unread = this.messages.slice(this.readFrom).filter(({ sender_id }) => sender_id !== ME).length;
    return { conversation_id: ROOM, kind: "group", unread, last_message: this.messages.at(-1) ?? null };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", this.url);
    const path = `${request.method ?? ""} ${pathname.replace("/api/v1", "")}`;
    this.requests.push(`${path}${new URL(request.url ?? "", this.url).search}`);
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const allowed = this.signedIn || request.headers.authorization === `Bearer ${TOKEN}`;
    const { status, body } = allowed
      ? (this.instead(path) ?? (await this.#route(path, searchParams, text)))
      : { status: 401, body: {} };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  async #route(path: string, query: URLSearchParams, text: string): Promise<{ status: number; body: Body }> {
    switch (path) {
      case "POST /messages":
        return { status: 201, body: this.#post(JSON.parse(text) as Outgoing, ME) };
      case "GET /conversations":
        return { status: 200, body: { conversations: [this.#conversation()], next_cursor: null, has_more: false } };
      case `GET /conversations/${ROOM}`:
        return { status: 200, body: this.#conversation() as unknown as Body };
      case `POST /conversations/${ROOM}/read`:
        this.#read();
        return { status: 200, body: {} };
      case `GET /conversations/${ROOM}/messages`:
        return {
          status: 200,
          body: this.#page(Number(query.get("cursor") ?? this.messages.length), Number(query.get("limit") ?? 50)),
        };
      case "GET /sync":
        return { status: 200, body: await this.#sync(query) };
      default:
        return { status: 404, body: { code: "not_found" } };
    }
  }

  #page(before: number, limit: number): Body {
    const from = Math.max(0, before - limit);
    return { messages: this.messages.slice(from, before).reverse(), next_cursor: String(from), has_more: from > 0 };
  }

  async #sync(query: URLSearchParams): Promise<Body> {
    const cursors = JSON.parse(query.get("cursors") ?? "{}") as Record<string, number>;
    const from = cursors[FEED] ?? this.items.length;
    if (from === this.items.length) await this.#nextItem(Number(query.get("wait")) * 1_000);
    return { epoch: this.epoch, heads: this.#heads(), items: this.items.slice(from), resync_required: false };
  }

  #nextItem(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#pollers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#pollers.add(wake);
    });
  }
}
