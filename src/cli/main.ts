#!/usr/bin/env node
import { runCli } from './run-cli.js'

void runCli(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  write: (text) => {
    process.stdout.write(text)
  },
  writeError: (text) => {
    process.stderr.write(text)
  },
}).then((exitCode) => {
  process.exitCode = exitCode
})
