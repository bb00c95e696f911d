/** Who did what. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Audit() {
  return <Page title={words.pages.audit}>{null}</Page>;
}
