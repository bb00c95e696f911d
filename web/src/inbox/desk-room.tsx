/** The desk for as long as somebody is signed in, and the two halves of the inbox on it. */

import { useEffect, useState } from "react";

import { Desk } from "../live/desk";
import { deviceId, newDeviceId } from "../live/storage";
import { DeskContext, useShown } from "../live/use-desk";
import type { Me } from "../model";
import { ConversationList } from "./conversation-list";
import styles from "./inbox.module.css";
import { NoThread } from "./no-thread";
import { useConversationInPath } from "./path";
import { Stopped } from "./stopped";
import { ThreadPane } from "./thread-pane";
import { TopBar } from "./top-bar";

interface Props {
  readonly me: Me;
  readonly onLeave: (told: boolean) => Promise<void>;
}

const NOT_KNOWN = 4401;

export function DeskRoom({ me, onLeave }: Props) {
  const [device, setDevice] = useState(deviceId);
  const [desk, setDesk] = useState<Desk | null>(null);
  useEffect(() => {
    const made = new Desk(me, device);
    made.start();
    setDesk(made);
    return made.close;
  }, [me, device]);
  if (desk === null) return null;
  return (
    <DeskContext value={desk}>
      <Inbox onLeave={onLeave} onUseHere={() => setDevice(newDeviceId())} />
    </DeskContext>
  );
}

function Inbox({ onLeave, onUseHere }: Pick<Props, "onLeave"> & { readonly onUseHere: () => void }) {
  const open = useConversationInPath();
  const stoppedBy = useShown(({ stoppedBy }) => stoppedBy);
  useEffect(() => {
    if (stoppedBy === NOT_KNOWN) void onLeave(false);
  }, [stoppedBy, onLeave]);
  return (
    <div className={styles["room"]} data-open={open !== null || undefined}>
      <TopBar onSignOut={() => void onLeave(true)} />
      {stoppedBy !== null && stoppedBy !== 0 && stoppedBy !== NOT_KNOWN && <Stopped code={stoppedBy} onUseHere={onUseHere} />}
      <div className={styles["halves"]}>
        <ConversationList open={open} />
        <main className={styles["main"]}>{open === null ? <NoThread /> : <ThreadPane key={open} id={open} />}</main>
      </div>
    </div>
  );
}
