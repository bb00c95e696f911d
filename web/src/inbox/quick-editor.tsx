/** Quick replies, changed in place; every change is kept at once. */

import { ActionIcon, Button, Textarea, TextInput } from "@mantine/core";

import { Cross } from "../icons";
import { texts } from "../texts";
import styles from "./composer.module.css";
import { Dialog } from "./dialog";
import { setQuickReplies, useQuickReplies, type QuickReply } from "./quick-replies";

export default function QuickEditor({ onClose }: { readonly onClose: () => void }) {
  const replies = useQuickReplies();
  const change = (index: number, changed: Partial<QuickReply>) =>
    setQuickReplies(replies.map((reply, each) => (each === index ? { ...reply, ...changed } : reply)));
  return (
    <Dialog title={texts.quick.title} onClose={onClose}>
      <p className={styles["hint"]}>{texts.quick.hint}</p>
      {replies.map(({ name, text }, index) => (
        <div key={index} className={styles["quickEdit"]}>
          <TextInput aria-label={texts.quick.name} placeholder={texts.quick.name} value={name} maxLength={40} onChange={(event) => change(index, { name: event.currentTarget.value })} />
          <Textarea aria-label={texts.quick.text} placeholder={texts.quick.text} value={text} maxLength={4000} autosize minRows={1} maxRows={5} onChange={(event) => change(index, { text: event.currentTarget.value })} />
          <ActionIcon variant="subtle" color="gray" size={36} aria-label={texts.quick.remove(name)} onClick={() => setQuickReplies(replies.filter((_, each) => each !== index))}>
            <Cross size={16} />
          </ActionIcon>
        </div>
      ))}
      <div className={styles["dialogEnd"]}>
        <Button variant="default" onClick={() => setQuickReplies([...replies, { name: "", text: "" }])}>
          {texts.quick.add}
        </Button>
        <Button onClick={onClose}>{texts.quick.done}</Button>
      </div>
    </Dialog>
  );
}
