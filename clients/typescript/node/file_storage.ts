/** Stores each value in its own file, in a folder that belongs to one process. */

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

  /** Written to a temporary file and renamed, so that a crash leaves either the old or the new value. */
  override setItem(key: string, value: string): void {
    const path = this.#path(key);
    const file = openSync(path + UNFINISHED, "w", 0o600);
    try {
      writeSync(file, value);
      // A new value must survive a power failure; a replaced value may fall back to the old one.
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
