/** The templates of the accounts. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Templates() {
  return <Page title={words.pages.templates}>{null}</Page>;
}
