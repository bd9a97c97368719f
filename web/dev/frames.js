// All fixture frames: the run that goes well, and those that end or go otherwise.
export * from "./good-run.js";
export * from "./odd-frames.js";
