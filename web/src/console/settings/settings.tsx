/** The settings in force, and their sources. */

import { Page } from "../kit";
import { words } from "../texts";
import { Policy } from "./policy";
import { ServerSettings } from "./server-settings";
import { texts } from "./texts";

export default function Settings() {
  return (
    <Page title={words.pages.settings} intro={texts.intro}>
      <Policy />
      <ServerSettings />
    </Page>
  );
}
