/** The equivalent curl and CLI commands. */

import { Button, Popover } from "@mantine/core";

import type { Call } from "../api";
import { curlOf } from "../curl";
import { words } from "../texts";
import { CopyButton } from "./copy";
import styles from "./kit.module.css";
import { Verbatim } from "./verbatim";

interface Props {
  readonly call: Call<unknown>;
  /** The equivalent `waypost` command, if there is one. */
  readonly cli?: string | undefined;
}

export function Curl({ call, cli }: Props) {
  return (
    <Popover position="bottom-end" trapFocus withRoles transitionProps={{ duration: 0 }} width="min(520px, calc(100vw - 24px))">
      <Popover.Target>
        <Button size="compact-sm" variant="default" fw={500}>
          {words.curl.button}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Commands call={call} cli={cli} />
      </Popover.Dropdown>
    </Popover>
  );
}

/** The commands, without a popover. */
export function Commands({ call, cli }: Props) {
  const command = curlOf(call, location.origin);
  return (
    <div className={styles["commands"]}>
      <div className={styles["commandHead"]}>
        <span>{words.curl.title}</span>
        <CopyButton text={command} />
      </div>
      <Verbatim>{command}</Verbatim>
      <p>{words.curl.hint}</p>
      {cli !== undefined && (
        <>
          <div className={styles["commandHead"]}>
            <span>{words.curl.cli}</span>
            <CopyButton text={cli} />
          </div>
          <Verbatim>{cli}</Verbatim>
        </>
      )}
    </div>
  );
}
