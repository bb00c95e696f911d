/** A template preview, rendered by the server while typing. */

import { Button, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { components } from "../../api/schema";
import { linkTo } from "../../path";
import { ask, call } from "../api";
import { QueryState, Commands, Panel } from "../kit";
import { componentsOf, keyOf, labelOf, type Template } from "./filling";
import styles from "./templates.module.css";
import { words } from "./texts";

type Rendered = components["schemas"]["PreviewView"];

const TYPING_MS = 200;

export function Preview({ template }: { readonly template: Template }) {
  const { name, language, parameters } = template;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [settled] = useDebouncedValue(values, TYPING_MS);
  const body = { language, components: [...componentsOf(template, settled)] };
  const request = call("post", "/api/v1/outbound/templates/{name}/preview", { path: { name }, body });
  const preview = useQuery({ queryKey: ["preview", template.wabaId, name, JSON.stringify(body)], queryFn: () => ask(request), placeholderData: keepPreviousData, retry: false });
  const message = { channel: "WHATSAPP", to: words.recipient, templateCode: name, payloadJson: body };
  return (
    <Panel
      title={`${words.preview}: ${name} (${language})`}
      intro={words.previewIntro}
      actions={
        <Button size="compact-sm" variant="default" component="a" {...linkTo("/console/templates")}>
          {words.close}
        </Button>
      }
    >
      <div className={styles["halves"]}>
        <div className={styles["places"]} role="group" aria-label={words.fill}>
          {parameters.length === 0 && <p>{words.noParameters}</p>}
          {parameters.map((place) => (
            <TextInput
              key={keyOf(place)}
              label={labelOf(place)}
              value={values[keyOf(place)] ?? ""}
              onChange={({ currentTarget: { value } }) => setValues((now) => ({ ...now, [keyOf(place)]: value }))}
            />
          ))}
        </div>
        <div className={styles["phone"]}>
          <QueryState query={preview}>{(rendered) => <Bubble rendered={rendered} />}</QueryState>
        </div>
      </div>
      <details className={styles["send"]}>
        <summary>{words.send}</summary>
        <p>{words.sendIntro}</p>
        <Commands call={call("post", "/api/v1/outbound/messages", { body: message as never })} />
      </details>
    </Panel>
  );
}

const Bubble = ({ rendered }: { readonly rendered: Rendered }) => (
  <div className={styles["bubble"]} aria-live="polite">
    {rendered.header !== null && <strong>{rendered.header}</strong>}
    <p>{rendered.body}</p>
    {rendered.footer !== null && <small>{rendered.footer}</small>}
    {rendered.buttons.map(({ text, value }, index) => (
      <span key={index} className={styles["button"]} title={value ?? undefined}>
        {text}
      </span>
    ))}
  </div>
);
