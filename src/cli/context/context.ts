import type { Readable } from 'node:stream'
import { type Admin, type AdminOptions, createAdmin, toJson } from '../../admin/index.js'
import { type DatabaseOptions, type OpenDatabase, openDatabase, requireDatabase } from './open-database.js'
import { formatTable, printable, type TableRow } from './output.js'

/** Everything external that the command line uses. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: Readable
  /** The columns of the terminal that shows the output. Undefined if there is none. */
  readonly width?: number | undefined
  write(text: string): void
  writeError(text: string): void
}

export interface GlobalOptions extends DatabaseOptions {
  readonly json: boolean
}

/** The admin functions that change nothing. */
export type AdminReader = {
  readonly [Group in Exclude<keyof Admin, 'as'>]: Group extends 'find'
    ? Admin[Group]
    : Pick<Admin[Group], Extract<keyof Admin[Group], Reading>>
}

type Reading = 'list' | `list${string}` | 'find' | 'balance' | 'spend' | 'openHolds' | 'verify' | 'verifyDays'

/** The parts that a command works with. The database is opened on first use. */
export interface CommandContext {
  readonly env: Surroundings['env']
  /**
   * For commands that write. The audit log names the user of the operating system. Creates the SQLite file, or the tables
   * of the PostgreSQL schema, if they do not exist.
   */
  admin(options?: AdminOptions): Promise<Admin>
  /** For commands that only read. Creates nothing: rejects if there is no file, or if the file or schema has no tables. */
  reader(): Promise<AdminReader>
  database(): Promise<OpenDatabase>
  /** Writes a value as JSON, or its rows as a table. If there are no rows, writes `none` instead of a table. */
  show(value: unknown, rows: readonly TableRow[], none?: string): void
  /** Writes a line of output. */
  write(line: string): void
  say(text: string): void
  readStdin(): Promise<string>
  close(): Promise<void>
}

export function createContext(surroundings: Surroundings, options: () => GlobalOptions): CommandContext {
  let opened: Promise<OpenDatabase> | undefined

  function database(): Promise<OpenDatabase> {
    opened ??= openDatabase(surroundings.env, options())
    return opened
  }

  function say(text: string): void {
    surroundings.writeError(`${printable(text)}\n`)
  }

  async function admin(adminOptions?: AdminOptions): Promise<Admin> {
    const { stores, note } = await database()
    if (note !== undefined) say(note)
    const name = surroundings.env.USER || surroundings.env.USERNAME
    const admin = createAdmin(stores, adminOptions)
    return name ? admin.as({ kind: 'operator', name }) : admin
  }

  return {
    env: surroundings.env,
    database,
    admin,
    async reader() {
      await requireDatabase(surroundings.env, options())
      return admin()
    },
    show(value, rows, none) {
      surroundings.write(
        options().json
          ? `${JSON.stringify(toJson(value), null, 2)}\n`
          : formatTable(rows, none, surroundings.width),
      )
    },
    write: (line) => surroundings.write(`${line}\n`),
    say,
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
