/** Selects a template, fills in its parameters, and previews it before sending. */

import { Button, Loader, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { preview } from "../live/requests";
import { useInboxStore } from "../live/use-inbox-store";
import type { Template } from "../model";
import { texts } from "../texts";
import styles from "./composer.module.css";
import { Dialog, focusWithin } from "./dialog";
import { canBeFilled, componentsOf, contentOf, isFilled, keyOf, sendable, textIn, type Values } from "./template-content";
import { useTemplates } from "./use-templates";

const PAUSE_MS = 250;

interface Props {
  readonly conversation: string;
  /** The business number whose account has the templates. */
  readonly from: string | null;
  readonly onClose: () => void;
}

export default function TemplatePicker({ conversation, from, onClose }: Props) {
  const [chosen, setChosen] = useState<Template | null>(null);
  return (
    <Dialog title={texts.templates.title} onClose={onClose}>
      {chosen === null ? (
        <Choose onChoose={setChosen} />
      ) : (
        <Fill template={chosen} from={from} conversation={conversation} onBack={() => setChosen(null)} onSent={onClose} />
      )}
    </Dialog>
  );
}

function Choose({ onChoose }: { readonly onChoose: (template: Template) => void }) {
  const [words, setWords] = useState("");
  const { data, isError, isPending, refetch } = useTemplates();
  if (isPending) return <Loader size="sm" aria-label={texts.templates.loading} />;
  if (isError)
    return (
      <p>
        {texts.templates.failed} <Button size="compact-sm" onClick={() => void refetch()}>{texts.thread.again}</Button>
      </p>
    );
  const found = sendable(data, words);
  return (
    <>
      <TextInput type="search" data-autofocus aria-label={texts.templates.search} placeholder={texts.templates.search} value={words} onChange={(event) => setWords(event.currentTarget.value)} />
      {found.length === 0 && <p className={styles["hint"]}>{texts.templates.none}</p>}
      <ul className={styles["templates"]}>
        {found.map((template) => (
          <li key={`${template.wabaId}/${template.id}`}>
            <button type="button" className={styles["template"]} onClick={() => onChoose(template)}>
              <span className={styles["templateName"]}>
                <bdi>{template.name}</bdi> <span className={styles["soft"]}>{template.language} · {template.category.toLowerCase()}</span>
              </span>
              <bdi className={styles["soft"]}>{textIn(template, "BODY")}</bdi>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

interface FillProps {
  readonly template: Template;
  readonly from: string | null;
  readonly conversation: string;
  readonly onBack: () => void;
  readonly onSent: () => void;
}

function Fill({ template, from, conversation, onBack, onSent }: FillProps) {
  const store = useInboxStore();
  const [values, setValues] = useState<Values>({});
  const frame = useRef<HTMLFormElement>(null);
  useEffect(() => focusWithin(frame.current), []);
  const [asked] = useDebouncedValue(values, PAUSE_MS);
  const complete = isFilled(template, asked);
  const { data, error } = useQuery({
    queryKey: ["preview", template.wabaId, template.id, asked],
    queryFn: () => preview(store.client, template.name, { language: template.language, components: [...componentsOf(template, asked)], from }),
    enabled: complete,
    placeholderData: (before) => before,
    retry: false,
  });
  const send = () => {
    store.send(conversation, contentOf(template, values));
    onSent();
  };
  const fillable = template.parameters.every(canBeFilled);
  return (
    <form
      ref={frame}
      className={styles["fill"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (isFilled(template, values)) send();
      }}
    >
      <p className={styles["templateName"]}>
        <bdi>{template.name}</bdi> <span className={styles["soft"]}>{template.language}</span>
      </p>
      {template.parameters.map((each, index) => (
        <TextInput
          key={keyOf(each)}
          data-autofocus={index === 0 || undefined}
          label={texts.templates.parameter(texts.templates.components[each.component] ?? each.component, each.name)}
          placeholder={each.kind === "text" ? "" : texts.templates.link}
          value={values[keyOf(each)] ?? ""}
          onChange={(event) => setValues({ ...values, [keyOf(each)]: event.currentTarget.value })}
        />
      ))}
      <section className={styles["preview"]} aria-label={texts.templates.preview} aria-live="polite">
        <span className={styles["soft"]}>{texts.templates.preview}</span>
        <p className={styles["previewText"]} dir="auto">
          {complete && data ? data.text : textIn(template, "BODY")}
        </p>
        {!complete && <span className={styles["soft"]}>{fillable ? texts.templates.fill : texts.templates.cannot}</span>}
        {complete && error && (
          <span className={styles["bad"]} role="alert">
            {error.message}
          </span>
        )}
      </section>
      <div className={styles["dialogEnd"]}>
        <Button variant="default" onClick={onBack}>
          {texts.templates.back}
        </Button>
        <Button type="submit" disabled={!isFilled(template, values) || !fillable}>
          {texts.templates.send}
        </Button>
      </div>
    </form>
  );
}
