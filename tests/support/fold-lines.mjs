// Folds the LogEvents on stdin with the console's own modules, which lie in the folder named; prints the model.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const source = (name) => import(pathToFileURL(`${process.argv[2]}/${name}`).href);
const [{ decodeLine }, { foldAll }, { modelToWire }] = await Promise.all(["decode.js", "fold.js", "model.js"].map(source));

let after = 0;
const events = readFileSync(0, "utf8").split("\n").filter(Boolean).map((line) => {
  const event = decodeLine(line, after);
  after = Math.max(after, event.seq ?? 0);
  return event;
});
process.stdout.write(JSON.stringify(modelToWire(foldAll(events))));
