import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { cleanLabel } from '../../protocol/text.js'
import { nameSchema, parseInput } from '../../rules/schemas.js'
import { type HttpError, notFound } from './http-error.js'

/** A person who uses the console. `name` is shown. The sign-out button posts to `signOutPath`; without it there is no button. */
export type ConsoleViewer =
  /** Sees and does everything. */
  | { readonly kind: 'operator'; readonly name?: string; readonly signOutPath?: string }
  /** Sees only its own account. */
  | { readonly kind: 'user'; readonly account: string; readonly name?: string; readonly signOutPath?: string }

/**
 * Returns who sent a request: an operator, a user with an account, or `undefined` for nobody. If it throws or returns
 * anything else, nobody gets in.
 */
export type Authorise = (
  req: IncomingMessage,
) => ConsoleViewer | undefined | null | Promise<ConsoleViewer | undefined | null>

const common = {
  // A name from another system must not lock its owner out.
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

/** Throws a `TypeError` if `authorise` returns anything but a viewer: a host's mistake must not let anyone in. */
export async function readViewer(
  authorise: Authorise,
  req: IncomingMessage,
): Promise<ConsoleViewer | undefined> {
  const viewer = await authorise(req)
  return viewer === undefined || viewer === null
    ? undefined
    : parseInput(viewerSchema, viewer, 'createConsole: authorise()')
}

/** Whether the viewer is a user whose account may publish apps. */
export async function isPublisher(
  viewer: ConsoleViewer,
  { publish }: { readonly publish: (account: string) => boolean | Promise<boolean> },
): Promise<boolean> {
  return viewer.kind === 'user' && (await publish(viewer.account)) === true
}

/** Returns the account that a viewer asks about: for a user its own. Other accounts look as if they did not exist. */
export function accountOf(viewer: ConsoleViewer, asked: string | undefined): string | undefined {
  if (viewer.kind === 'operator') return asked
  if (asked !== undefined && asked !== viewer.account) throw noAccount(asked)
  return viewer.account
}

export function noAccount(account: string): HttpError {
  return notFound(`There is no account ${JSON.stringify(account)}`, 'account')
}

/** Names who makes a change, for the history of a connected app. */
export function changeBy(viewer: ConsoleViewer): { readonly account?: string } {
  return viewer.kind === 'user' ? { account: viewer.account } : {}
}
