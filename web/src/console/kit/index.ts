/** What all pages of the console are made of. */

export { Answered, Failed } from "./answered";
export { Chart, type Series } from "./chart";
export { Copyable, CopyButton } from "./copy";
export { Commands, Curl } from "./curl";
export { Deed, Dialog } from "./deed";
export { Marked } from "./marked";
export { Moment, useNow } from "./moment";
export { Fact, Facts, Page, Panel, Tile, Tiles, Toolbar } from "./page";
export { useSay } from "./said";
export { MessageStatus, Status, type Mood } from "./status";
export { AnswerTable, Table, type Column } from "./table";
export { agoWords, exactly, lasting } from "./time";
export { Verbatim } from "./verbatim";
