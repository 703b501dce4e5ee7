import { Command, CommanderError } from 'commander'
import { version } from '../base/version.js'
import { addAccountCommands } from './commands/accounts.js'
import { addAppCommands } from './commands/apps.js'
import { addCallCommands } from './commands/calls.js'
import { addConnectedAppCommands } from './commands/connected-apps.js'
import { addCredentialCommands } from './commands/credentials.js'
import { addDatabaseCommands } from './commands/database.js'
import { addDemoCommand } from './commands/demo.js'
import { addHoldCommands } from './commands/holds.js'
import { addLimitCommands } from './commands/limits.js'
import { addModelCommands } from './commands/models.js'
import { addReportCommands } from './commands/reports.js'
import { addRouteCommands } from './commands/routes.js'
import { createSession, type Surroundings } from './session/session.js'

/** Runs the command line over `createAdmin`. Writes errors itself and resolves with the exit code. */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const program = new Command('compat-router')
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
  const session = createSession(surroundings, () => ({
    ...program.opts(),
    isFileArgument: program.getOptionValueSource('file') === 'cli',
  }))
  for (const add of [
    addAccountCommands,
    addCredentialCommands,
    addAppCommands,
    addConnectedAppCommands,
    addLimitCommands,
    addHoldCommands,
    addModelCommands,
    addRouteCommands,
    addReportCommands,
    addCallCommands,
    addDatabaseCommands,
  ]) {
    add(program, session)
  }
  addDemoCommand(program, surroundings.write)
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode
    surroundings.writeError(`error: ${describeError(error)}\n`)
    return 1
  } finally {
    await session.close()
  }
}

/** If all addresses of a host refuse, Node's error has no message. */
function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(describeError).join('; ')
  }
  return error instanceof Error ? error.message : String(error)
}
