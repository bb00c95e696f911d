/** The room of whoever is signed in: the desk that follows the server, the bar at the top, and the part that the address names. */

import { Loader } from "@mantine/core";
import { lazy, Suspense, useEffect, useState } from "react";

import { Inbox } from "../inbox/inbox";
import { conversationIn } from "../inbox/path";
import { Desk } from "../live/desk";
import { deviceId, newDeviceId } from "../live/storage";
import { DeskContext, useShown } from "../live/use-desk";
import type { Me } from "../model";
import { partIn, useAddress } from "../path";
import { texts } from "../texts";
import styles from "./room.module.css";
import { Stopped } from "./stopped";
import { TopBar } from "./top-bar";

const Console = lazy(() => import("../console/console"));

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
      <Room onLeave={onLeave} onUseHere={() => setDevice(newDeviceId())} />
    </DeskContext>
  );
}

function Room({ onLeave, onUseHere }: Pick<Props, "onLeave"> & { readonly onUseHere: () => void }) {
  const part = useAddress(partIn);
  const reads = useAddress(({ pathname }) => conversationIn(pathname) !== null);
  const stoppedBy = useShown(({ stoppedBy }) => stoppedBy);
  useEffect(() => {
    if (stoppedBy === NOT_KNOWN) void onLeave(false);
  }, [stoppedBy, onLeave]);
  return (
    <div className={styles["room"]} data-open={reads || undefined}>
      <TopBar part={part} onSignOut={() => void onLeave(true)} />
      {stoppedBy !== null && stoppedBy !== 0 && stoppedBy !== NOT_KNOWN && <Stopped code={stoppedBy} onUseHere={onUseHere} />}
      {part === "console" ? (
        <Suspense fallback={<Waiting />}>
          <Console />
        </Suspense>
      ) : (
        <Inbox />
      )}
    </div>
  );
}

const Waiting = () => (
  <div className={styles["waiting"]}>
    <Loader aria-label={texts.parts.loading} />
  </div>
);
