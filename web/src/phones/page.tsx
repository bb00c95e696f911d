/** The phone as its own page, on screens too narrow for the panel. */

import { Device } from "./device";
import styles from "./phones.module.css";
import { Switcher } from "./switcher";
import { words } from "./texts";
import { Trouble } from "./trouble";
import { usePhones } from "./use-phones";

export default function PhonePage() {
  const phones = usePhones();
  return (
    <main className={styles["page"]} aria-label={words.panel}>
      <div className={styles["pagePhone"]}>
        <Switcher phones={phones} />
        <Device key={phones.person.phone} phones={phones} conversation={null} />
      </div>
      <Trouble faults={phones.screenState.screen?.faults ?? null} />
    </main>
  );
}
