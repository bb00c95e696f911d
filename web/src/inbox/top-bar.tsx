/** Whose page this is, how the connection is, and the way out. */

import { ActionIcon, Avatar, Menu, Tooltip, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";

import { Mark, Moon, Sun } from "../icons";
import { useDesk } from "../live/use-desk";
import { texts } from "../texts";
import { initialsOf } from "../words";
import { ConnectionBadge } from "./connection-badge";
import styles from "./inbox.module.css";

export function TopBar({ onSignOut }: { readonly onSignOut: () => void }) {
  const { me } = useDesk();
  return (
    <header className={styles["top"]}>
      <Mark />
      <h1 className={styles["product"]}>{texts.product}</h1>
      <ConnectionBadge />
      <span className={styles["space"]} />
      <ColourSwitch />
      <Menu position="bottom-end" width={200} withinPortal={false} transitionProps={{ duration: 0 }}>
        <Menu.Target>
          <UnstyledButton className={styles["me"]} aria-label={`${texts.account.menu}: ${me.name}`}>
            <Avatar size={32} radius="xl" color="teal" variant="filled">
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

function ColourSwitch() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme("light") === "dark";
  const label = isDark ? texts.account.toLight : texts.account.toDark;
  return (
    <Tooltip label={label} withinPortal={false} transitionProps={{ duration: 0 }}>
      <ActionIcon variant="subtle" color="gray" size="lg" aria-label={label} onClick={() => setColorScheme(isDark ? "light" : "dark")}>
        {isDark ? <Sun /> : <Moon />}
      </ActionIcon>
    </Tooltip>
  );
}
