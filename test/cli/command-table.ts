import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { createContext } from '../../src/cli/context/context.js'
import { createProgram } from '../../src/cli/run-cli.js'

const TABLE = /^\| command \| \|\n\|---\|---\|\n(?:\|.*\n)*/m

/** The commands of the command line that do something, each under its noun. */
export function listCommands(): readonly Command[] {
  const surroundings = { env: {}, stdin: Readable.from([]), write: () => {}, writeError: () => {} }
  const context = createContext(surroundings, () => ({
    file: '',
    isFileArgument: true,
    schema: '',
    json: false,
  }))
  const leavesOf = (command: Command): Command[] =>
    command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
  return leavesOf(createProgram(surroundings, context))
}

/** `accounts credit`, as it is typed. */
export function nameOf(command: Command): string {
  const { parent } = command
  return parent?.parent ? `${parent.name()} ${command.name()}` : command.name()
}

/** Returns a document with a table of all commands in place of its own. */
export function withCommandTable(document: string): string {
  const rows = listCommands().map((command) => {
    const given = command.registeredArguments.map((argument) =>
      argument.required ? ` <${argument.name()}>` : ` [${argument.name()}]`,
    )
    return `| \`${nameOf(command)}${given.join('')}\` | ${command.description()} |\n`
  })
  return document.replace(TABLE, () => `| command | |\n|---|---|\n${rows.join('')}`)
}
