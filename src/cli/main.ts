#!/usr/bin/env node
import { runCli } from './run-cli.js'

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that stops early, such as head, is not an error.
  if (error.code === 'EPIPE') return
  process.exitCode = 1
  process.stderr.write(`error: standard output cannot be written: ${error.message}\n`)
})
process.stderr.on('error', () => undefined)

void runCli(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  width: process.stdout.columns,
  write: (text) => {
    process.stdout.write(text)
  },
  writeError: (text) => {
    process.stderr.write(text)
  },
}).then((exitCode) => {
  process.exitCode ||= exitCode
})
