import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { nameSchema, parseInput } from '../../contracts/schemas.js'
import { cleanLabel } from '../../protocol/text.js'
import { type HttpError, notFound } from './http-error.js'

/** Who looks at the console. `name` is shown; `signOutPath` is the address of the sign-out button; without it there is no button. */
export type ConsoleViewer =
  /** Sees and does everything. */
  | { readonly kind: 'operator'; readonly name?: string; readonly signOutPath?: string }
  /** Sees its own account. */
  | { readonly kind: 'user'; readonly account: string; readonly name?: string; readonly signOutPath?: string }

/**
 * Says who sent a request: an operator, a user with an account, or (`undefined`) nobody. What it throws, and whatever
 * else it returns, lets nobody in.
 */
export type Authorise = (
  req: IncomingMessage,
) => ConsoleViewer | undefined | null | Promise<ConsoleViewer | undefined | null>

const common = {
  // A person's name as another system has it must not keep that person out.
  name: z
    .string()
    .transform((text) => cleanLabel(text))
    .optional(),
  signOutPath: z.string().optional(),
}
export const viewerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('operator'), ...common }),
  z.strictObject({ kind: z.literal('user'), account: nameSchema, ...common }),
])

/** Throws a `TypeError` for what is no viewer: a host's mistake must not open a door. */
export async function readViewer(
  authorise: Authorise,
  req: IncomingMessage,
): Promise<ConsoleViewer | undefined> {
  const viewer = await authorise(req)
  return viewer === undefined || viewer === null
    ? undefined
    : parseInput(viewerSchema, viewer, 'createConsole: authorise()')
}

/** The account that a viewer asks about: a user's is its own. Another's is as unknown to it as one that is not there. */
export function accountOf(viewer: ConsoleViewer, asked: string | undefined): string | undefined {
  if (viewer.kind === 'operator') return asked
  if (asked !== undefined && asked !== viewer.account) throw noAccount(asked)
  return viewer.account
}

export function noAccount(account: string): HttpError {
  return notFound(`There is no account ${JSON.stringify(account)}`, 'account')
}
