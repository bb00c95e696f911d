/** Runs clients for the test runner: commands as JSON lines on stdin, events as JSON lines on stdout. */

import { createInterface } from "node:readline";

import { WebSocket } from "ws";

import {
  WaypostClient,
  WaypostError,
  type Content,
  type Message,
  type SocketConstructor,
  type Timings,
} from "../src/index.js";
import { FileStorage } from "../node/index.js";

interface Start {
  readonly do: "start";
  readonly url: string;
  readonly token: string;
  readonly device_id: string;
  readonly store: string;
  readonly timing?: Partial<Timings>;
  readonly epoch?: string;
}

type Command =
  | Start
  | {
      readonly do: "send";
      readonly client_message_id: string;
      readonly conversation_id: string;
      readonly content: Content;
    }
  | { readonly do: "read"; readonly conversation_id: string; readonly message_id: string }
  | { readonly do: "typing"; readonly conversation_id: string }
  | { readonly do: "history"; readonly conversation_id: string; readonly limit?: number }
  | { readonly do: "unread"; readonly conversation_id: string }
  | { readonly do: "stop" };

/** Selects one of several clients in this process; omitted if there is only one. */
interface Named {
  readonly as?: string;
}

type Emit = (event: string, fields: object) => void;

function emitterFor(as?: string): Emit {
  const name = as === undefined ? {} : { as };
  return (event, fields) => void process.stdout.write(`${JSON.stringify({ event, ...name, ...fields })}\n`);
}

function start({ url, token, device_id, store, timing = {}, epoch }: Start, emit: Emit): WaypostClient {
  const client = new WaypostClient({
    ...{ url, token, deviceId: device_id, storage: new FileStorage(store), timings: timing },
    ...(epoch === undefined ? {} : { epoch }),
    WebSocket: WebSocket as unknown as SocketConstructor,
  });
  client.on("state", ({ state, code }) => emit("state", { is: state, ...(code === undefined ? {} : { code }) }));
  client.on("reset", async ({ reason }) => emit("reset", { reason, messages: await allMessages(client) }));
  client.on("item", (item) => emit("item", { item }));
  client.on("fetch", ({ feeds }) => emit("fetch", { feeds }));
  client.on("typing", (frame) => emit("frame", { frame }));
  client.on("presence", (frame) => emit("frame", { frame }));
  emitOutgoing(client, emit);
  client.connect();
  return client;
}

function emitOutgoing(client: WaypostClient, emit: Emit): void {
  client.on("outgoing", (change) => {
    const { client_message_id } = change.message;
    if (change.change === "queued") emit("queued", { client_message_id });
    if (change.change === "trying") emit("try", { client_message_id, path: change.path });
    if (change.change === "sent") emit("sent", change.sent);
    if (change.change === "refused") emit("refused", { client_message_id, code: change.code });
  });
}

/** All conversations, each starting with its oldest message. */
async function allMessages(client: WaypostClient): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const { conversation_id } of client.allConversations()) {
    messages.push(...(await newestFirst(client, conversation_id, 200)).reverse());
  }
  return messages;
}

async function newestFirst(client: WaypostClient, conversation_id: string, limit?: number): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of client.allHistory(conversation_id, limit)) messages.push(message);
  return messages;
}

async function run(client: WaypostClient, command: Exclude<Command, Start>, emit: Emit): Promise<void> {
  switch (command.do) {
    case "send":
      return void client
        .send(command.conversation_id, command.content, command.client_message_id)
        .catch((error: WaypostError) => {
          if (["queue_full", "client_message_id_in_use"].includes(error.code))
            emit("refused", { client_message_id: command.client_message_id, code: error.code });
        });
    case "read":
      return client.read(command.conversation_id, command.message_id);
    case "typing":
      return client.typing(command.conversation_id);
    case "history": {
      const { conversation_id, limit } = command;
      return emit("history", { conversation_id, messages: await newestFirst(client, conversation_id, limit) });
    }
    case "unread": {
      const { conversation_id } = command;
      return emit("unread", { conversation_id, count: await client.unread(conversation_id) });
    }
    case "stop":
      return client.close();
  }
}

const clients = new Map<string | undefined, WaypostClient>();
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as Command & Named;
  const client = clients.get(command.as);
  const emit = emitterFor(command.as);
  if (command.do === "start") clients.set(command.as, start(command, emit));
  else if (client !== undefined)
    void run(client, command, emit).catch((error: Error) => process.stderr.write(`${command.do}: ${error.message}\n`));
  if (command.do === "stop" && command.as === undefined) break;
}
for (const client of clients.values()) client.close();
// Lets the socket flush, then exits.
process.stdout.write("", () => setTimeout(() => process.exit(0), 50));
