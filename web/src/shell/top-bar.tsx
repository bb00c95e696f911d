/** The top bar: navigation, connection state and account menu. */

import { ActionIcon, Avatar, Button, Menu, UnstyledButton, useComputedColorScheme, useMantineColorScheme, VisuallyHidden } from "@mantine/core";

import { Handset, Mark, Moon, Sun } from "../icons";
import { useInboxStore } from "../live/use-inbox-store";
import { linkTo, type Part } from "../path";
import { words } from "../phones/texts";
import { texts } from "../texts";
import { initialsOf } from "../display-text";
import { ConnectionBadge } from "./connection-badge";
import type { PhonePanelState } from "./phone-panel-state";
import styles from "./shell.module.css";

const PARTS = ["inbox", "console", "phones"] as const;

interface Props {
  readonly part: Part;
  readonly phone: PhonePanelState;
  readonly onSignOut: () => void;
}

export function TopBar({ part, phone, onSignOut }: Props) {
  const { me } = useInboxStore();
  return (
    <header className={styles["top"]}>
      <Mark />
      <h1 className={styles["product"]}>{texts.product}</h1>
      <nav className={styles["parts"]} aria-label={texts.parts.label}>
        {PARTS.filter((each) => each !== "phones" || me.sandbox).map((each) => (
          <a key={each} className={styles["part"]} data-part={each} aria-current={each === part ? "page" : undefined} {...linkTo(`/${each}`)}>
            {texts.parts[each]}
          </a>
        ))}
      </nav>
      <ConnectionBadge />
      <span className={styles["space"]} />
      {me.sandbox && part === "inbox" && <PhoneSwitch {...phone} />}
      <ColourSwitch />
      <Menu position="bottom-end" width={200} withinPortal={false} transitionProps={{ duration: 0 }}>
        <Menu.Target>
          <UnstyledButton className={styles["me"]} title={me.name}>
            <VisuallyHidden>{`${texts.account.menu}: ${me.name}`}</VisuallyHidden>
            <Avatar size={32} radius="xl" color="teal" variant="filled" aria-hidden="true">
              {initialsOf(me.name)}
            </Avatar>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <div className={styles["meNamed"]}>
            <strong>{me.name}</strong>
            <span>
              {texts.account.role[me.role] ?? me.role} · {me.org_id}
            </span>
          </div>
          <Menu.Divider />
          <Menu.Item onClick={onSignOut}>{texts.account.signOut}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </header>
  );
}

/** On narrow screens the phone is a separate page with its own link. */
function PhoneSwitch({ shown, toggle }: PhonePanelState) {
  return (
    <Button
      className={styles["phoneSwitch"]}
      variant={shown ? "light" : "default"}
      size="compact-sm"
      leftSection={<Handset size={16} />}
      aria-pressed={shown}
      title={shown ? words.hide : words.show}
      onClick={toggle}
    >
      {texts.parts.phones}
    </Button>
  );
}

function ColourSwitch() {
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true }); // otherwise Mantine adds a temporary style element
  const isDark = useComputedColorScheme("light") === "dark";
  const label = isDark ? texts.account.toLight : texts.account.toDark;
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={label}
      title={label}
      onClick={() => setColorScheme(isDark ? "light" : "dark")}
    >
      {isDark ? <Sun /> : <Moon />}
    </ActionIcon>
  );
}
