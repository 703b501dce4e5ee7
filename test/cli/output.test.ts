import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { expect, it } from 'vitest'
import { programFile } from '../helpers/program.js'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url)

/** Runs the program in its own process with its output sent to `stdout`. */
async function start(stdout: 'pipe' | number) {
  const child = spawn(process.execPath, [await programFile(MAIN), '--help'], {
    stdio: ['ignore', stdout, 'pipe'],
  })
  let said = ''
  child.stderr!.on('data', (bytes) => {
    said += bytes
  })
  const ended = once(child, 'close').then(([exitCode]) => ({ exitCode, said }))
  return { child, ended }
}

it('the command line exits quietly if the reader of its output is gone', async () => {
  const { child, ended } = await start('pipe')
  child.stdout!.destroy()
  expect(await ended).toEqual({ exitCode: 0, said: '' })
})

it.skipIf(!existsSync('/dev/full'))('the command line reports that it cannot write its output', async () => {
  const full = openSync('/dev/full', 'w')
  const { ended } = await start(full)
  closeSync(full)
  const { exitCode, said } = await ended
  expect(said).toMatch(/^error: standard output cannot be written: ENOSPC[^\n]*\n$/)
  expect(exitCode).toBe(1)
})
