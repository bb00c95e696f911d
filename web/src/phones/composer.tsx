/** The phone's composer: text, or one of several message types to try. */

import { ActionIcon, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState, type ChangeEvent, type KeyboardEvent } from "react";

import { Plane } from "../icons";
import { markDone } from "../shell/first-steps";
import { encodeFile, sendMessage } from "./sandbox-api";
import type { Person } from "./model";
import styles from "./phones.module.css";
import { words } from "./texts";
import { chime } from "./voice";

const PICTURES = ["image/jpeg", "image/png", "image/webp"];
const LARGEST_PICTURE = 5 * 1024 * 1024;
const PLACE = { latitude: 52.5219, longitude: 13.4132, ...words.write.place };

interface Outgoing {
  readonly message: object;
  /** The typed text. */
  readonly text?: string;
}

export function PhoneComposer({ person: { phone, name } }: { readonly person: Person }) {
  const [draft, setDraft] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  /** Restores unsent text before what was typed since. */
  const failed = (text: string) => {
    setProblem(words.write.failed);
    setDraft((since) => [text, since].filter((part) => part.trim() !== "").join("\n"));
  };
  const send = useMutation({
    mutationFn: ({ message }: Outgoing) => sendMessage(phone, { ...message, name }),
    onMutate: () => {
      setProblem(null);
      markDone("write");
    },
    onError: (_, { text = "" }) => failed(text),
  });
  const write = () => {
    if (draft.trim() === "") return;
    setDraft("");
    send.mutate({ message: { text: draft }, text: draft });
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    write();
  };
  const sendPicture = async (file: File) => {
    if (!PICTURES.includes(file.type) || file.size > LARGEST_PICTURE) return setProblem(words.write.photoWrong);
    setDraft("");
    try {
      const image = { ...(await encodeFile(file)), ...(draft.trim() && { caption: draft }) };
      send.mutate({ message: { message: { type: "image", image } }, text: draft });
    } catch {
      failed(draft); // the file was moved or deleted after it was chosen
    }
  };
  const sendVoice = async () => {
    try {
      send.mutate({ message: { message: { type: "audio", audio: { voice: true, ...(await encodeFile(await chime())) } } } });
    } catch {
      setProblem(words.write.voiceWrong);
    }
  };
  return (
    <div className={styles["composer"]}>
      {problem !== null && (
        <p className={styles["problem"]} role="alert">
          {problem}
        </p>
      )}
      <More onSend={(message) => send.mutate({ message })} onPicture={(file) => void sendPicture(file)} onVoice={() => void sendVoice()} />
      <div className={styles["write"]}>
        <Textarea
          className={styles["field"]}
          radius="xl"
          aria-label={words.write.label(name)}
          placeholder={words.write.placeholder}
          value={draft}
          onChange={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={keys}
          autosize
          maxRows={4}
          maxLength={4096}
        />
        <ActionIcon size={36} radius="xl" aria-label={words.write.send} title={words.write.send} disabled={draft.trim() === ""} onClick={write}>
          <Plane />
        </ActionIcon>
      </div>
    </div>
  );
}

interface MoreProps {
  readonly onSend: (message: object) => void;
  readonly onPicture: (file: File) => void;
  readonly onVoice: () => void;
}

function More({ onSend, onPicture, onVoice }: MoreProps) {
  const input = useRef<HTMLInputElement>(null);
  const picked = ({ currentTarget }: ChangeEvent<HTMLInputElement>) => {
    const file = currentTarget.files?.[0];
    if (file) onPicture(file);
    currentTarget.value = "";
  };
  const { photo, photoHint, location, voice, voiceHint, burst, burstHint, burstLines, stop, stopHint, more } = words.write;
  return (
    <div className={styles["more"]} role="group" aria-label={more}>
      <input ref={input} type="file" accept={PICTURES.join(",")} aria-label={photoHint} onChange={picked} hidden />
      <Quick name={photo} hint={photoHint} onClick={() => input.current?.click()} />
      <Quick name={location} onClick={() => onSend({ message: { type: "location", location: PLACE } })} />
      <Quick name={voice} hint={voiceHint} onClick={onVoice} />
      <Quick name={burst} hint={burstHint} onClick={() => onSend({ texts: burstLines })} />
      <Quick name={stop} hint={stopHint} onClick={() => onSend({ text: stop })} />
    </div>
  );
}

const Quick = ({ name, hint, onClick }: { readonly name: string; readonly hint?: string; readonly onClick: () => void }) => (
  <button type="button" className={styles["quick"]} title={hint} onClick={onClick}>
    {name}
  </button>
);
