/** The room of whoever is signed in: the desk that follows the server, the bar at the top, and the part that the address names. */

import { Loader } from "@mantine/core";
import { lazy, Suspense, useEffect, useState } from "react";

import { Inbox } from "../inbox/inbox";
import { conversationIn } from "../inbox/path";
import { Desk } from "../live/desk";
import { clientOf, deviceId, newDeviceId } from "../live/storage";
import { DeskContext, useShown } from "../live/use-desk";
import type { Me } from "../model";
import { partIn, useAddress, type Part } from "../path";
import { texts } from "../texts";
import { usePhoneBeside } from "./phone-shown";
import styles from "./room.module.css";
import { StepsStrip } from "./steps-strip";
import { Stopped } from "./stopped";
import { TopBar } from "./top-bar";

const Console = lazy(() => import("../console/console"));
const PhonePanel = lazy(() => import("../phones/panel"));
const PhonePage = lazy(() => import("../phones/page"));

interface Props {
  readonly me: Me;
  readonly onLeave: (told: boolean) => Promise<void>;
}

const NOT_KNOWN = 4401;

export function DeskRoom({ me, onLeave }: Props) {
  const [device, setDevice] = useState(deviceId);
  const [desk, setDesk] = useState<Desk | null>(null);
  useEffect(() => {
    const made = new Desk(me, clientOf(device));
    made.start();
    setDesk(made);
    return made.close;
  }, [me, device]);
  if (desk === null) return null;
  return (
    <DeskContext value={desk}>
      <Room isDemo={me.sandbox} onLeave={onLeave} onUseHere={() => setDevice(newDeviceId())} />
    </DeskContext>
  );
}

interface RoomProps extends Pick<Props, "onLeave"> {
  readonly isDemo: boolean;
  readonly onUseHere: () => void;
}

function Room({ isDemo, onLeave, onUseHere }: RoomProps) {
  const phone = usePhoneBeside(isDemo);
  const part = useAddress(partIn);
  const reads = useAddress(({ pathname }) => conversationIn(pathname) !== null);
  const stoppedBy = useShown(({ stoppedBy }) => stoppedBy);
  useEffect(() => {
    if (stoppedBy === NOT_KNOWN) void onLeave(false);
  }, [stoppedBy, onLeave]);
  return (
    <div className={styles["room"]} data-part={part} data-open={reads || undefined}>
      <TopBar part={part} phone={phone} onSignOut={() => void onLeave(true)} />
      {isDemo && <StepsStrip />}
      {stoppedBy !== null && stoppedBy !== 0 && stoppedBy !== NOT_KNOWN && <Stopped code={stoppedBy} onUseHere={onUseHere} />}
      <div className={styles["beside"]}>
        {phone.shown && part === "inbox" && (
          <Suspense fallback={<div className={styles["phonePlace"]} />}>
            <PhonePanel />
          </Suspense>
        )}
        <div className={styles["partPlace"]}>
          <Suspense fallback={<Waiting />}>
            <Shown part={part} isDemo={isDemo} />
          </Suspense>
        </div>
      </div>
    </div>
  );
}

function Shown({ part, isDemo }: { readonly part: Part; readonly isDemo: boolean }) {
  if (part === "console") return <Console />;
  return part === "phones" && isDemo ? <PhonePage /> : <Inbox />;
}

const Waiting = () => (
  <div className={styles["waiting"]}>
    <Loader aria-label={texts.parts.loading} />
  </div>
);
