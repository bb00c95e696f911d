/** Whom the bot answers, and what it gave up. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Turns() {
  return <Page title={words.pages.turns}>{null}</Page>;
}
