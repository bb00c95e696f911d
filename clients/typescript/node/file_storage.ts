/** Keeps each value in a file of its own in one folder, which belongs to one process. */

import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import { MemoryStorage } from "../src/index.js";

const UNFINISHED = ".new";

export class FileStorage extends MemoryStorage {
  readonly #folder: string;

  constructor(folder: string) {
    super();
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder)) {
      if (name.endsWith(UNFINISHED)) rmSync(join(folder, name));
      else super.setItem(decodeURIComponent(name), readFileSync(join(folder, name), "utf8"));
    }
  }

  /** Written beside and moved into place, so that a crash leaves the old value or the new one. */
  override setItem(key: string, value: string): void {
    const path = this.#path(key);
    const file = openSync(path + UNFINISHED, "w", 0o600);
    try {
      writeSync(file, value);
      // A new value must outlive a power cut too; one that replaces another may fall back to it.
      if (this.getItem(key) === null) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(path + UNFINISHED, path);
    super.setItem(key, value);
  }

  override removeItem(key: string): void {
    rmSync(this.#path(key), { force: true });
    super.removeItem(key);
  }

  #path(key: string): string {
    return join(this.#folder, encodeURIComponent(key));
  }
}
