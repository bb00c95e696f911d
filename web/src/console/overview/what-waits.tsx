/** Due messages by what they wait for. */

import { Anchor } from "@mantine/core";

import { linkTo } from "../../path";
import { Moment, Panel, Table } from "../kit";
import type { Waiting } from "./figures";
import { texts } from "./texts";

const { waiting: said } = texts;

const COLUMNS = [
  { head: said.reason, cell: ({ reason }: Waiting) => said.reasons[reason] ?? reason, wide: true },
  { head: said.messages, cell: ({ messages }: Waiting) => messages.toLocaleString(), align: "right" as const },
  { head: said.since, cell: ({ oldest_at }: Waiting) => <Moment at={oldest_at} /> },
];

export const WhatWaits = ({ waiting }: { readonly waiting: readonly Waiting[] }) => (
  <Panel
    title={said.title}
    actions={
      <Anchor size="sm" {...linkTo("/console/limits")}>
        {said.toLimits}
      </Anchor>
    }
  >
    <Table label={said.title} columns={COLUMNS} rows={waiting} keyOf={({ reason }) => reason} empty={said.empty} />
  </Panel>
);
