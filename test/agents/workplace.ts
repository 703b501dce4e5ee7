import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Agent, Place } from './agents.js'
import { NUMBERS } from './task.js'

const PROGRAMS = join(import.meta.dirname, 'node_modules', '.bin')

/** A home and a project that nobody else has. */
export class Workplace {
  private constructor(private readonly folder: string) {}

  static async make(): Promise<Workplace> {
    const workplace = new Workplace(await mkdtemp(join(tmpdir(), 'agent-')))
    await mkdir(workplace.project)
    await writeFile(join(workplace.project, NUMBERS.file), NUMBERS.text)
    return workplace
  }

  get project(): string {
    return join(this.folder, 'project')
  }

  read(file: string): Promise<string> {
    return readFile(join(this.project, file), 'utf8')
  }

  /** Runs an agent until it exits by itself, or ends it if the signal aborts. */
  async run(
    agent: Agent,
    place: Place,
    proxied: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ code: number | null; printed: string; complained: string }> {
    const { args, env, home } = agent.start(place)
    const own = join(this.folder, 'home')
    await mkdir(own)
    for (const [path, content] of Object.entries(home)) {
      await mkdir(dirname(join(own, path)), { recursive: true })
      await writeFile(join(own, path), content)
    }
    const child = spawn(join(PROGRAMS, agent.command), args, {
      cwd: this.project,
      env: {
        ...proxied,
        ...env,
        HOME: own,
        PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
    })
    const [printed, complained, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ])
    return { code, printed, complained }
  }

  /** An agent's own processes may still write for a moment. */
  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20 })
  }
}
