import { Command, CommanderError } from 'commander'
import type { FindOptions } from '../admin/index.js'
import { version } from '../base/version.js'
import { addDemoCommand } from './commands/demo.js'
import {
  type CommandContext,
  createContext,
  type GlobalOptions,
  type Surroundings,
} from './context/context.js'
import { NOUNS } from './nouns.js'

/** Runs the command line over `createAdmin`. Writes errors itself and resolves with the exit code. */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const context = createContext(surroundings, readOptions)
  const program = createProgram(surroundings, context)
  function readOptions(): GlobalOptions {
    return { ...program.opts(), isFileArgument: program.getOptionValueSource('file') === 'cli' }
  }
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode
    surroundings.writeError(`error: ${describeError(error)}\n`)
    return 1
  } finally {
    await context.close()
  }
}

/** Returns the program with a command for each noun, and under it one for each verb. */
export function createProgram(surroundings: Surroundings, context: CommandContext): Command {
  const program = new Command('compat-router')
    .usage('[options] <noun> <verb>')
    .description(
      'Administers the accounts, keys, apps, models and routes of a compat-router.\n\nThe database is the SQLite file of --file, otherwise DATABASE_URL (postgres://…), otherwise a SQLite file by default.\nSecrets come from standard input or the environment, never from arguments.',
    )
    .option(
      '--file <path>',
      'the SQLite file; or set COMPAT_ROUTER_FILE',
      surroundings.env.COMPAT_ROUTER_FILE ?? '.data/compat-router.db',
    )
    .option(
      '--schema <name>',
      'the PostgreSQL schema; or set COMPAT_ROUTER_SCHEMA',
      surroundings.env.COMPAT_ROUTER_SCHEMA ?? 'compat_router',
    )
    .option('--json', 'write JSON instead of tables', false)
    .version(version, '-V, --version', 'write the version of compat-router')
    .exitOverride()
    .configureOutput({ writeOut: surroundings.write, writeErr: surroundings.writeError })
    .showHelpAfterError()
  for (const [name, { about, verbs }] of Object.entries(NOUNS)) {
    const noun = program.command(name).description(about)
    for (const [usage, define] of Object.entries(verbs)) define(noun.command(usage), context)
    noun.summary(`${about}: ${noun.commands.map((verb) => verb.name()).join(', ')}`)
  }
  program
    .command('find <text>')
    .description(
      'find anything by its id, or an account, a credential or an app by the beginning of its name',
    )
    .option('--account <account>', 'only what belongs to this account')
    .action(async (text: string, options: FindOptions) => {
      const found = await (await context.reader()).find(text, options)
      context.show(
        found,
        found.map(({ kind, id, account, name }) => ({ kind, id, account, name })),
      )
    })
  addDemoCommand(program, surroundings.write)
  refuseRepeats(program)
  return program
}

/** Refuses options given twice, of which commander would keep the last and drop the others without a word. */
function refuseRepeats(command: Command): void {
  const given = new Set<string>()
  for (const option of command.options) {
    if (option.isBoolean()) continue
    command.on(`option:${option.name()}`, () => {
      const collects = Array.isArray(command.getOptionValue(option.attributeName()))
      if (given.has(option.name()) && !collects)
        command.error(`error: option '${option.flags}' is given twice; it takes one value`)
      given.add(option.name())
    })
  }
  command.commands.forEach(refuseRepeats)
}

/** If all addresses of a host refuse, Node's error has no message. */
function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(describeError).join('; ')
  }
  return error instanceof Error ? error.message : String(error)
}
