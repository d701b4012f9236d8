// Makes a component of one JavaScript file: node build.mjs SOURCE WORLD WIT-FOLDER COMPONENT
import { readFile, writeFile } from "node:fs/promises";
import { componentize } from "@bytecodealliance/componentize-js";

const [source, worldName, witPath, target] = process.argv.slice(2);
const { component } = await componentize(await readFile(source, "utf8"), {
  worldName,
  witPath,
  // What a guest says on standard error is kept: an exception's text is there and nowhere else.
  disableFeatures: ["http", "fetch-event"],
});
await writeFile(target, component);
