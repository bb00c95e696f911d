/** Builds the page into the Python package, with hashed file names and precompressed assets. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const PAGE = here("../src/waypost/http/page");
/** Smaller files are not compressed. */
const WORTH_PACKING = 512;

/** The server sends these files and does not compress anything itself. */
function packed() {
  return {
    name: "packed",
    apply: "build" as const,
    writeBundle() {
      for (const entry of readdirSync(PAGE, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(js|css|html|svg|json)$/.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        const content = readFileSync(path);
        if (content.length < WORTH_PACKING) continue;
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), packed()],
  resolve: { alias: { "@waypost/client": here("../clients/typescript/src/index.ts") } },
  build: {
    outDir: PAGE,
    emptyOutDir: true,
    assetsInlineLimit: 0, // nothing inline: the content security policy forbids it
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8080", ws: true }, "/_sandbox": "http://127.0.0.1:8080" } },
});
