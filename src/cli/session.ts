import type { Readable } from 'node:stream'
import { type Admin, createAdmin } from '../admin/index.js'
import { type OpenDatabase, openDatabase } from './open-database.js'
import { formatTable, type TableRow, toJson } from './output.js'

/** What the command line touches outside itself. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: Readable
  write(text: string): void
  writeError(text: string): void
}

export interface GlobalOptions {
  readonly file: string
  readonly schema: string
  readonly json: boolean
}

/** What a command works with. The database is opened when it is first asked for. */
export interface Session {
  readonly env: Surroundings['env']
  admin(): Promise<Admin>
  database(): Promise<OpenDatabase>
  /** Writes a value as JSON, or its rows as a table. */
  show(value: unknown, rows: readonly TableRow[]): void
  say(text: string): void
  readStdin(): Promise<string>
  close(): Promise<void>
}

export function createSession(surroundings: Surroundings, options: () => GlobalOptions): Session {
  let opened: Promise<OpenDatabase> | undefined

  function database(): Promise<OpenDatabase> {
    opened ??= openDatabase(surroundings.env, options())
    return opened
  }

  return {
    env: surroundings.env,
    database,
    admin: async () => createAdmin((await database()).stores),
    show(value, rows) {
      surroundings.write(options().json ? `${toJson(value)}\n` : formatTable(rows))
    },
    say(text) {
      surroundings.writeError(`${text}\n`)
    },
    async readStdin() {
      const chunks: Buffer[] = []
      for await (const chunk of surroundings.stdin) chunks.push(Buffer.from(chunk as Uint8Array | string))
      return Buffer.concat(chunks).toString('utf8')
    },
    async close() {
      const open = await opened?.catch(() => undefined)
      await open?.close()
    },
  }
}
