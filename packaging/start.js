#!/usr/bin/env node
// Starts the program of the package for this processor, and ends as it ends.
"use strict";

const { spawn } = require("child_process");
const name = `tare-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/tare`);
} catch {
  console.error(`error: there is no ${name}: tare runs on Linux on x64 and arm64, from optional dependencies of its package`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The terminal interrupts both; whoever ends this one means the program.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
