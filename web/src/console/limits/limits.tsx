/** Limits and holds: everything that can delay messages. */

import { Page } from "../kit";
import { words } from "../texts";
import { Gates } from "./gates";
import { Quota } from "./quota";
import { texts } from "./texts";
import { Window } from "./window";

export default function Limits() {
  return (
    <Page title={words.pages.limits} intro={texts.intro}>
      <Gates />
      <Quota />
      <Window />
    </Page>
  );
}
