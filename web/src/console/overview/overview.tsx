/** What the machine is doing now, and whether all of it is well. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Overview() {
  return <Page title={words.pages.overview}>{null}</Page>;
}
