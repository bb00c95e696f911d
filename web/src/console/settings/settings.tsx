/** The settings in force, with where each comes from. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Settings() {
  return <Page title={words.pages.settings}>{null}</Page>;
}
