import { resolve } from 'node:path'
import type { SystemKind, SystemSetup } from './messages.js'
import { MODEL, MOUNT, UPSTREAM_MODEL } from './names.js'
import { preparePortkey, startPortkey } from './portkey.js'
import { type Program, programCommand, startProgram } from './program.js'

/** A system that runs and can be given load. */
export interface Target {
  readonly name: string
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  readonly program: Program
  stop(): Promise<void>
}

export interface System {
  /** Unique in a run, also where one system is measured twice. */
  readonly name: string
  start(upstream: Program, more?: SystemOptions): Promise<Target>
}

export interface SystemOptions extends Partial<Omit<SystemSetup, 'kind' | 'dist' | 'upstreamPort'>> {
  readonly nodeArguments?: readonly string[]
}

export interface SystemDefaults {
  /** Where the built package is. */
  readonly dist: string
}

export const PATH = '/chat/completions'
const ROUTER_KINDS = ['http', 'connect', 'express', 'front'] as const

/** How a router can be run otherwise, by what follows its name. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  '-plain': { environment: { COMPAT_ROUTER_FAST_PATHS: 'off' } },
  '-watched': { setup: { watched: true } },
  '-no-memory-reducer': { nodeArguments: ['--no-memory-reducer'] },
}

/** Every name that `--systems` knows, for its help. */
export const SYSTEM_NAMES = ['pipe', 'direct', ...ROUTER_KINDS, 'portkey']

/**
 * Finds systems by name. `http-plain` is the router without its fast paths, `http-watched` the one with a console and
 * metrics beside it, `http-no-memory-reducer` the one whose V8 gives no memory back when it idles, `http@DIR` the one
 * that was built to DIR.
 * A peer that cannot be installed is left out, with a word on stderr.
 */
export async function findSystems(names: readonly string[], defaults: SystemDefaults): Promise<System[]> {
  const systems: System[] = []
  const used = new Map<string, number>()
  for (const name of names) {
    const start = await findSystem(name, defaults)
    if (start === undefined) continue
    const times = (used.get(name) ?? 0) + 1
    used.set(name, times)
    systems.push({ name: times === 1 ? name : `${name}#${times}`, start })
  }
  return systems
}

type Start = System['start']

async function findSystem(name: string, { dist }: SystemDefaults): Promise<Start | undefined> {
  if (name === 'direct') return direct
  if (name === 'portkey') {
    const directory = await preparePortkey().catch((error: Error) => {
      process.stderr.write(`portkey is left out, it cannot be installed: ${error.message}\n`)
    })
    return directory === undefined
      ? undefined
      : async (upstream) => startPortkey(directory, portOf(upstream), MODEL_OF_PEERS)
  }
  const [base, otherDist] = name.split('@', 2) as [string, string | undefined]
  const suffix = Object.keys(VARIANTS).find((ending) => base.endsWith(ending)) ?? ''
  const kind = base.slice(0, base.length - suffix.length)
  if (kind !== 'pipe' && !ROUTER_KINDS.includes(kind as (typeof ROUTER_KINDS)[number])) {
    throw new Error(`--systems: there is no ${JSON.stringify(name)}; there are ${SYSTEM_NAMES.join(', ')}`)
  }
  return startOwn(kind as SystemKind, resolve(otherDist ?? dist), VARIANTS[suffix] ?? {})
}

const MODEL_OF_PEERS = UPSTREAM_MODEL

async function direct(upstream: Program): Promise<Target> {
  return {
    name: 'direct',
    port: portOf(upstream),
    path: `/v1${PATH}`,
    headers: {},
    model: UPSTREAM_MODEL,
    program: upstream,
    stop: async () => undefined,
  }
}

interface Variant {
  readonly setup?: Partial<SystemSetup>
  readonly nodeArguments?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

function startOwn(kind: SystemKind, dist: string, variant: Variant): Start {
  return async (upstream, { nodeArguments = [], ...more } = {}) => {
    const setup: SystemSetup = {
      kind,
      dist,
      upstreamPort: portOf(upstream),
      models: 1,
      keys: 1,
      openHolds: 0,
      ledger: 'memory',
      watched: false,
      ...variant.setup,
      ...more,
    }
    const program = await startProgram({
      command: programCommand('system', setup, [...(variant.nodeArguments ?? []), ...nodeArguments]),
      core: 'system',
      environment: variant.environment ?? {},
    })
    return {
      name: kind,
      port: portOf(program),
      path: MOUNT + PATH,
      headers: {},
      model: MODEL,
      program,
      stop: () => program.stop(),
    }
  }
}

export function portOf(program: Program): number {
  return (program.ready as { port: number }).port
}
