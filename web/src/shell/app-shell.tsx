/** The app of a signed-in user: the inbox store, the top bar, and the part that the URL selects. */

import { Loader } from "@mantine/core";
import { lazy, Suspense, useEffect, useState } from "react";

import { Inbox } from "../inbox/inbox";
import { conversationIn } from "../inbox/path";
import { InboxStore } from "../live/inbox-store";
import { clientOf, deviceId, newDeviceId } from "../live/storage";
import { InboxStoreContext, useInboxState } from "../live/use-inbox-store";
import type { Me } from "../model";
import { partIn, useAddress, type Part } from "../path";
import { texts } from "../texts";
import { usePhonePanel } from "./phone-panel-state";
import styles from "./shell.module.css";
import { StepsStrip } from "./steps-strip";
import { Stopped } from "./stopped";
import { TopBar } from "./top-bar";

const Console = lazy(() => import("../console/console"));
const PhonePanel = lazy(() => import("../phones/panel"));
const PhonePage = lazy(() => import("../phones/page"));

interface Props {
  readonly me: Me;
  readonly onLeave: (notifyServer: boolean) => Promise<void>;
}

const UNAUTHENTICATED = 4401;

export function AppShell({ me, onLeave }: Props) {
  const [device, setDevice] = useState(deviceId);
  const [store, setStore] = useState<InboxStore | null>(null);
  useEffect(() => {
    const made = new InboxStore(me, clientOf(device));
    made.start();
    setStore(made);
    return made.close;
  }, [me, device]);
  if (store === null) return null;
  return (
    <InboxStoreContext value={store}>
      <Shell isDemo={me.sandbox} onLeave={onLeave} onUseHere={() => setDevice(newDeviceId())} />
    </InboxStoreContext>
  );
}

interface ShellProps extends Pick<Props, "onLeave"> {
  readonly isDemo: boolean;
  readonly onUseHere: () => void;
}

function Shell({ isDemo, onLeave, onUseHere }: ShellProps) {
  const phone = usePhonePanel(isDemo);
  const part = useAddress(partIn);
  const reads = useAddress(({ pathname }) => conversationIn(pathname) !== null);
  const stoppedBy = useInboxState(({ stoppedBy }) => stoppedBy);
  useEffect(() => {
    if (stoppedBy === UNAUTHENTICATED) void onLeave(false);
  }, [stoppedBy, onLeave]);
  return (
    <div className={styles["shell"]} data-part={part} data-open={reads || undefined}>
      <TopBar part={part} phone={phone} onSignOut={() => void onLeave(true)} />
      {isDemo && <StepsStrip />}
      {stoppedBy !== null && stoppedBy !== 0 && stoppedBy !== UNAUTHENTICATED && <Stopped code={stoppedBy} onUseHere={onUseHere} />}
      <div className={styles["beside"]}>
        {phone.shown && part === "inbox" && (
          <Suspense fallback={<div className={styles["phonePlace"]} />}>
            <PhonePanel />
          </Suspense>
        )}
        <div className={styles["partPlace"]}>
          <Suspense fallback={<Waiting />}>
            <CurrentPart part={part} isDemo={isDemo} />
          </Suspense>
        </div>
      </div>
    </div>
  );
}

function CurrentPart({ part, isDemo }: { readonly part: Part; readonly isDemo: boolean }) {
  if (part === "console") return <Console />;
  return part === "phones" && isDemo ? <PhonePage /> : <Inbox />;
}

const Waiting = () => (
  <div className={styles["waiting"]}>
    <Loader aria-label={texts.parts.loading} />
  </div>
);
