import { resolve } from 'node:path'
import {
  PEER_NAMES,
  type RouterSetup,
  STORED_NAMES,
  type StoredName,
  type StoredReady,
  type StoredSetup,
  type SystemKind,
  type SystemSetup,
  WATCHED_NAMES,
  type WatchedName,
} from './messages.js'
import { MODEL, MOUNT, UPSTREAM_MODEL } from './names.js'
import { isPeerName, preparePeer } from './peers.js'
import { type Program, programCommand, startProgram } from './program.js'

/** A running system that can get load. */
export interface Target {
  readonly name: string
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  readonly program: Program
  /** The process of the PostgreSQL server behind it, if there is one. */
  readonly serverId?: number
  stop(): Promise<void>
}

export interface System {
  /** Unique in a run, even if one system is measured twice. */
  readonly name: string
  start(upstream: Program, more?: SystemOptions): Promise<Target>
}

export interface SystemOptions extends Partial<Omit<SystemSetup, 'kind' | 'dist' | 'upstreamPort'>> {
  readonly nodeArguments?: readonly string[]
}

export interface SystemDefaults {
  /** The folder of the built package. */
  readonly dist: string
}

export const PATH = '/chat/completions'
const ROUTER_KINDS = ['http', 'connect', 'express', 'front'] as const

/** Variants of a router, by the suffix of its name. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  '-plain': { fastPaths: false },
  ...Object.fromEntries(
    ['chunks', 'lines', 'messages', 'splice', 'turns'].map((path) => [
      `-no-${path}`,
      { fastPaths: { [path]: false } },
    ]),
  ),
  '-no-memory-reducer': { nodeArguments: ['--no-memory-reducer'] },
}

/** Every name that `--systems` accepts, for its help. */
export const SYSTEM_NAMES = [
  'pipe',
  'direct',
  ...ROUTER_KINDS,
  ...PEER_NAMES,
  ...WATCHED_NAMES,
  ...STORED_NAMES,
]

/**
 * Finds systems by name. `http-plain` is the router without its fast paths, `http-no-lines` without one of them.
 * `http-no-memory-reducer` keeps V8 from returning memory when idle. `http@DIR` is the one built to DIR. `unwatched`,
 * `watched` and similar names share one process, and so do `on-sqlite` and similar names. A peer that cannot be installed is left out, with a message on stderr.
 */
export async function findSystems(names: readonly string[], defaults: SystemDefaults): Promise<System[]> {
  const systems: System[] = []
  const dist = resolve(defaults.dist)
  const startWatched = sharedProcess<WatchedName>((upstream, { nodeArguments, ...more }) =>
    startProgram({
      command: programCommand('watched', { ...plainSetup(dist, upstream), ...more }, nodeArguments),
      core: 'system',
    }),
  )
  const stored = names.filter(isStoredName)
  const startStored = sharedProcess<StoredName>((upstream, { nodeArguments }) => {
    const setup: StoredSetup = { ...plainSetup(dist, upstream), names: stored }
    return startProgram({ command: programCommand('stored', setup, nodeArguments), core: 'any' })
  })
  const used = new Map<string, number>()
  for (const name of names) {
    const start = isWatchedName(name)
      ? startWatched(name)
      : isStoredName(name)
        ? startStored(name)
        : await findSystem(name, defaults)
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
  if (isPeerName(name)) {
    const startPeer = await preparePeer(name).catch((error: Error) => {
      process.stderr.write(`${name} is left out, it cannot be installed: ${error.message}\n`)
      return undefined
    })
    return startPeer && ((upstream) => startPeer(portOf(upstream)))
  }
  const [base, otherDist] = name.split('@', 2) as [string, string | undefined]
  const suffix = Object.keys(VARIANTS).find((ending) => base.endsWith(ending)) ?? ''
  const kind = base.slice(0, base.length - suffix.length)
  if (kind !== 'pipe' && !ROUTER_KINDS.includes(kind as (typeof ROUTER_KINDS)[number])) {
    throw new Error(`--systems: unknown name ${JSON.stringify(name)}; known are ${SYSTEM_NAMES.join(', ')}`)
  }
  return startOwn(kind as SystemKind, resolve(otherDist ?? dist), VARIANTS[suffix] ?? {})
}

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
  readonly nodeArguments?: readonly string[]
  readonly fastPaths?: SystemSetup['fastPaths']
}

function startOwn(kind: SystemKind, dist: string, variant: Variant): Start {
  return async (upstream, { nodeArguments = [], ...more } = {}) => {
    const setup: SystemSetup = {
      kind,
      ...plainSetup(dist, upstream),
      ...(variant.fastPaths !== undefined && { fastPaths: variant.fastPaths }),
      ...more,
    }
    const program = await startProgram({
      command: programCommand('system', setup, [...(variant.nodeArguments ?? []), ...nodeArguments]),
      core: 'system',
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

/** Starts one process for all of its routers, and ends it with the last of them. */
function sharedProcess<Name extends WatchedName | StoredName>(
  startOne: (upstream: Program, options: SystemOptions) => Promise<Program>,
): (name: Name) => Start {
  let starting: Promise<Program> | undefined
  let running = 0
  return (name) =>
    async (upstream, options = {}) => {
      running++
      starting ??= startOne(upstream, options)
      const program = await starting
      const { serverId, tokens } = program.ready as Partial<StoredReady>
      const token = tokens?.[name as StoredName]
      return {
        name,
        port: portOf(program),
        path: `/${name}${MOUNT}${PATH}`,
        headers: authorizationOf(token),
        model: MODEL,
        program,
        ...(name.startsWith('on-postgres') && serverId !== undefined && { serverId }),
        async stop() {
          if (--running > 0) return
          starting = undefined
          if (tokens !== undefined) await program.ask({ kind: 'close' })
          await program.stop()
        },
      }
    }
}

function authorizationOf(token: string | undefined): Readonly<Record<string, string>> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

function isWatchedName(name: string): name is WatchedName {
  return WATCHED_NAMES.includes(name as WatchedName)
}

function isStoredName(name: string): name is StoredName {
  return STORED_NAMES.includes(name as StoredName)
}

/** The settings of one router with everything in memory. */
export function plainSetup(dist: string, upstream: Program): RouterSetup {
  return { dist, upstreamPort: portOf(upstream), models: 1, keys: 1, openHolds: 0, ledger: 'memory' }
}

export function portOf(program: Program): number {
  return (program.ready as { port: number }).port
}
