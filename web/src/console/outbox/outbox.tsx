/** The messages, newest first. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Outbox() {
  return <Page title={words.pages.outbox}>{null}</Page>;
}
