import type { Command } from 'commander'
import type { CommandContext } from '../context/context.js'

/** The commands about one kind of thing. */
export interface Noun {
  readonly about: string
  /** By the verb and its arguments, as commander reads them: `credit <account> <credits>`. */
  readonly verbs: Readonly<Record<string, DefineCommand>>
}

/** Gives a command its description, its options and its action. */
export type DefineCommand = (command: Command, context: CommandContext) => void
