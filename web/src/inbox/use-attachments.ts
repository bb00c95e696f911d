/** The attachments of one conversation; each is uploaded as soon as it is chosen. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { kindOf, problemOf, upload, type Attachment } from "./attachments";
import { keepPreview } from "./previews";

export interface Attachments {
  readonly list: readonly Attachment[];
  readonly add: (files: Iterable<File>) => void;
  readonly cancel: (key: string) => void;
  readonly again: (key: string) => void;
  /** Called after sending. */
  readonly clear: () => void;
}

let made = 0;

export function useAttachments(from: string | null): Attachments {
  const [list, setList] = useState<readonly Attachment[]>([]);
  const cancels = useRef(new Map<string, () => void>());
  const change = useCallback((key: string, changed: Partial<Attachment>) => {
    setList((known) => known.map((each) => (each.key === key ? { ...each, ...changed } : each)));
  }, []);
  const start = useCallback(
    ({ key, file }: Attachment) => {
      const under = upload(file, from, (progress) => change(key, { progress }));
      cancels.current.set(key, under.cancel);
      under.done.then(
        (id) => {
          keepPreview(id, file);
          change(key, { id, progress: 100 });
        },
        (error: Error) => change(key, { problem: error.message }),
      );
    },
    [change, from],
  );
  useEffect(() => {
    const under = cancels.current;
    return () => under.forEach((cancel) => cancel());
  }, []);
  return useMemo(
    () => ({
      list,
      add: (files) => {
        const chosen = [...files].map((file): Attachment => {
          const kind = kindOf(file.type);
          return { key: `file-${++made}`, file, kind, progress: 0, id: null, problem: problemOf(file, kind) };
        });
        setList((known) => [...known, ...chosen]);
        for (const each of chosen) if (each.problem === null) start(each);
      },
      cancel: (key) => {
        cancels.current.get(key)?.();
        setList((known) => known.filter((each) => each.key !== key));
      },
      again: (key) => {
        const each = list.find((one) => one.key === key);
        if (each === undefined) return;
        change(key, { problem: null, progress: 0 });
        start(each);
      },
      clear: () => setList([]),
    }),
    [list, start, change],
  );
}
