import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../helpers/free-port.js'
import { installPeer, LLMKIT } from '../../helpers/install-peer.js'
import type { CallFacts, Gateway, Owed, Target, Upstream } from '../target.js'
import { PRICES, priceOf, roundedNanos } from '../usage.js'

const REDIRECT = new URL('../programs/redirect.ts', import.meta.url).href
const TSX = new URL('../../../node_modules/tsx/dist/loader.mjs', import.meta.url).href
const ENTRY = 'node_modules/@f3d1/llmkit-cli/dist/index.js'
/** It reads the end of a stream after its client has it. */
const AFTER_CALLS_MS = 200

/**
 * Set up by its README: `npx @f3d1/llmkit-cli --json -- COMMAND`. It "records every request and calculates cost from the
 * token usage", and prints the sum when the command ends, so the command here ends after each scenario. It promises
 * nothing for a reply without usage, and has no limits, no keys and no memory.
 */
export async function llmkitTarget(): Promise<Target> {
  const directory = await installPeer(LLMKIT)
  return {
    name: 'llmkit',
    version: `@f3d1/llmkit-cli ${LLMKIT.version}`,
    settings: [
      'README, "Usage": --json, around a command that waits; model gpt-4o from its own price list',
      'connections to api.openai.com go to the scripted provider, because it only speaks to port 443',
    ],
    policy: {
      sources: ['README: a local proxy that records every request and calculates cost from the token usage'],
      owes,
      price: (usage) => priceOf(usage, PRICES),
      storedWithinMs: 0,
    },
    start: (upstream) => startLlmkit(directory, upstream),
  }
}

function owes({ reported, spelling }: CallFacts): Owed {
  return reported === undefined || spelling !== 'openai' ? { unstated: true } : { usage: reported }
}

async function startLlmkit(directory: string, upstream: Upstream): Promise<Gateway> {
  const home = await mkdtemp(join(tmpdir(), 'compat-router-exactness-home-'))
  const port = await freePort()
  const made: bigint[] = []
  let child = await wrapCommand(directory, home, port, upstream.port)
  const end = async (): Promise<void> => {
    const printed = text(child.stdout!)
    const gone = once(child, 'exit')
    child.stdin!.end()
    await gone
    const { totalCost, totalRequests } = JSON.parse(await printed) as Record<string, number>
    // It prints the number of requests and the sum. Those of a scenario cost the same.
    const sum = roundedNanos(totalCost!)
    if (sum > 0n) for (let index = 0; index < totalRequests!; index++) made.push(sum / BigInt(totalRequests!))
  }
  return {
    url: `http://127.0.0.1:${port}/v1/chat/completions`,
    model: 'gpt-4o',
    headers: {},
    key: 'key-of-the-host',
    async charges() {
      await sleep(AFTER_CALLS_MS)
      await end()
      child = await wrapCommand(directory, home, port, upstream.port)
      return made
    },
    async stop() {
      await end()
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** Wraps a command that waits for the end of its input. */
async function wrapCommand(
  directory: string,
  home: string,
  port: number,
  upstream: number,
): Promise<ChildProcess> {
  const waiting = [process.execPath, '-e', 'process.stdin.resume()']
  const child = spawn(
    process.execPath,
    ['--import', TSX, '--import', REDIRECT, ENTRY, '--json', '--port', String(port), '--', ...waiting],
    {
      cwd: directory,
      env: { ...process.env, HOME: home, EXACTNESS_REDIRECT: JSON.stringify({ 'api.openai.com': upstream }) },
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  )
  const url = `http://127.0.0.1:${port}/`
  while (
    !(await fetch(url).then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`${ENTRY} ended with ${child.exitCode}`)
    await sleep(50)
  }
  return child
}
