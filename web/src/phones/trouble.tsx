/** Switches that simulate faults, each with a description of its effect. */

import { Button, Collapse, NativeSelect, Switch } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";

import { Bolt, Down } from "../icons";
import { markDone } from "../shell/first-steps";
import { addFault, calm, removeFault } from "./sandbox-api";
import { codeOf, CODES, faultOf, kindOf, KINDS, type Code, type Kind } from "./faults";
import type { Fault } from "./model";
import styles from "./phones.module.css";
import { words } from "./texts";

interface Props {
  /** Null until loaded. */
  readonly faults: readonly Fault[] | null;
  /** Collapsed by default. */
  readonly folded?: boolean;
}

export function Trouble({ faults, folded = false }: Props) {
  const [open, setOpen] = useState(!folded);
  const change = useMutation({ mutationFn: (make: () => Promise<unknown>) => make() });
  const inner = useId();
  const count = faults?.length ?? 0;
  return (
    <section className={styles["trouble"]} aria-label={words.trouble.title} data-on={count > 0 || undefined}>
      <div className={styles["troubleTop"]}>
        <button type="button" className={styles["troubleTitle"]} aria-expanded={open} aria-controls={inner} onClick={() => setOpen(!open)}>
          <Bolt size={16} />
          {words.trouble.title}
          <span className={styles["fold"]} data-open={open || undefined}>
            <Down size={16} />
          </span>
          {count > 0 && <span className={styles["count"]}>{words.trouble.on(count)}</span>}
        </button>
        {count > 0 && (
          <Button size="compact-xs" variant="default" title={words.trouble.calmHint} onClick={() => change.mutate(calm)}>
            {words.trouble.calm}
          </Button>
        )}
      </div>
      {change.isError && (
        <p className={styles["problem"]} role="alert">
          {words.trouble.failed}
        </p>
      )}
      <Collapse expanded={open} id={inner} transitionDuration={0}>
        <Switches faults={faults ?? []} brief={folded} onChange={change.mutate} />
      </Collapse>
    </section>
  );
}

interface SwitchesProps {
  readonly faults: readonly Fault[];
  /** In the narrow panel, only active switches show their description. */
  readonly brief: boolean;
  readonly onChange: (make: () => Promise<unknown>) => void;
}

function Switches({ faults, brief, onChange }: SwitchesProps) {
  const [chosen, setChosen] = useState<Code>(CODES[0]);
  const code = codeOf(faults) ?? chosen;
  const on = new Map(faults.map((fault) => [kindOf(fault), fault.id]));
  const others = faults.filter((fault) => kindOf(fault) === null).length;
  const turn = (kind: Kind, wanted: Code) => {
    const known = on.get(kind);
    if (known === undefined) markDone("trouble");
    onChange(() => (known === undefined ? addFault(faultOf(kind, wanted)) : removeFault(known)));
  };
  const pick = (wanted: Code) => {
    const known = on.get("code");
    setChosen(wanted);
    if (known !== undefined) onChange(() => removeFault(known).then(() => addFault(faultOf("code", wanted))));
  };
  return (
    <div className={styles["switches"]}>
      {!brief && <p className={styles["small"]}>{words.trouble.intro}</p>}
      {KINDS.map((kind) => {
        const watch = kind === "code" ? words.trouble.codeWatch[code] : words.trouble.kinds[kind].watch;
        return (
          <Switch
            key={kind}
            size="sm"
            label={words.trouble.kinds[kind].name}
            title={watch}
            description={brief && !on.has(kind) ? undefined : watch}
            checked={on.has(kind)}
            onChange={() => turn(kind, code)}
          />
        );
      })}
      <NativeSelect
        size="xs"
        aria-label={words.trouble.code}
        value={code}
        onChange={(event) => pick(CODES.find((each) => String(each) === event.currentTarget.value) ?? CODES[0])}
        data={CODES.map((each) => ({ value: String(each), label: words.trouble.codes[each] ?? String(each) }))}
      />
      {others > 0 && <p className={styles["small"]}>{words.trouble.others(others)}</p>}
    </div>
  );
}
