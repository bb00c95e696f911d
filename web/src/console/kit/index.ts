/** Shared components of the console. */

export { QueryState, Failed } from "./query-state";
export { Chart, type Series } from "./chart";
export { Copyable, CopyButton } from "./copy";
export { Commands, Curl } from "./curl";
export { ActionButton, Dialog } from "./action-button";
export { Marked } from "./marked";
export { Moment, useNow } from "./moment";
export { Fact, Facts, Page, Panel, Tile, Tiles, Toolbar } from "./page";
export { useToast } from "./toast";
export { MessageStatus, Status, type Mood } from "./status";
export { QueryTable, Table, type Column } from "./table";
export { agoWords, exactly, lasting } from "./time";
export { Verbatim } from "./verbatim";
