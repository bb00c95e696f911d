/** What may keep messages waiting, and how to let them go. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Limits() {
  return <Page title={words.pages.limits}>{null}</Page>;
}
