import { expect, test } from "vitest";

import { piecesOf } from "../src/snippet";

test.each([
  ["my parcel is late", [[3, 9]], [["my ", false], ["parcel", true], [" is late", false]]],
  ["🎉🎉 parcel", [[3, 9]], [["🎉🎉 ", false], ["parcel", true]]],
  ["nothing", [], [["nothing", false]]],
  ["ab", [[0, 1], [1, 2]], [["a", true], ["b", true]]],
  ["<b>x</b>", [[3, 4]], [["<b>", false], ["x", true], ["</b>", false]]],
])("%s is split at %j", (text, marks, pieces) => {
  expect(piecesOf({ text, marks: marks as [number, number][] }).map((piece) => [piece.text, piece.found])).toEqual(pieces);
});
