/** The numbers and mailboxes that we send from. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Numbers() {
  return <Page title={words.pages.numbers}>{null}</Page>;
}
