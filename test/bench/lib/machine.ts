import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, type } from 'node:os'
import { isPinned } from './program.js'

/** The machine and the versions of a measurement. */
export interface Machine {
  readonly date: string
  readonly node: string
  readonly undici: string
  readonly system: string
  readonly processor: string
  readonly cores: number
  readonly isPinned: boolean
  /** The number of processes ready to run in the last minute, before the bench began. */
  readonly loadBefore: number
  readonly commit: string
}

export function describeMachine(): Machine {
  return {
    date: new Date().toISOString(),
    node: process.version,
    undici: undiciVersion(),
    system: `${type()} ${release()}`,
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    isPinned,
    loadBefore: Math.round(loadavg()[0]! * 100) / 100,
    commit: currentCommit(),
  }
}

export function machineLine(machine: Machine): string {
  const { node, undici, system, processor, cores, loadBefore, commit } = machine
  const pinned = machine.isPinned
    ? 'system under test on core 0, upstream and load on core 1'
    : 'processes are not kept to cores: ratios are rough'
  return `Node ${node}, undici ${undici}, ${system}, ${processor}, ${cores} cores, ${pinned}. Load before: ${loadBefore}. Commit ${commit}.`
}

function undiciVersion(): string {
  const manifest = new URL('../../../node_modules/undici/package.json', import.meta.url)
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}

function currentCommit(): string {
  try {
    const git = (...what: string[]) => execFileSync('git', what, { encoding: 'utf8', stdio: 'pipe' }).trim()
    return git('describe', '--always', '--dirty')
  } catch {
    return 'unknown'
  }
}
