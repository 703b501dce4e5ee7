import { z } from 'zod'
import type { Admin } from '../../admin/index.js'
import type { Clock } from '../../base/clock.js'
import { parseInput } from '../../rules/schemas.js'
import type { EventLog } from './event-log.js'
import { HttpError, notFound } from './http-error.js'
import type { ObservedRouters } from './observed-routers.js'
import type { ConsoleViewer } from './viewer.js'

/** The services that every endpoint uses. */
export interface Services {
  readonly admin: Admin
  readonly log: EventLog
  readonly routers: ObservedRouters
  readonly routerPath: string
  /** Whether an account may publish apps. */
  readonly publish: (account: string) => boolean | Promise<boolean>
  /** Where users add credits. Absent if the host has no such page. */
  readonly topUpUrl: string | undefined
  readonly clock: Clock
}

/** The services, and who uses the endpoint. */
export interface Context extends Services {
  readonly viewer: ConsoleViewer
}

/** One row of the table of endpoints. Routing, the types of the pages and their check of replies come from it. */
export interface Endpoint<
  Method extends 'GET' | 'POST' = 'GET' | 'POST',
  Path extends string = string,
  Input = unknown,
  Reply extends object = object,
> {
  readonly method: Method
  /** Relative to `api/`. */
  readonly path: Path
  /**
   * Operators, users whose account may publish apps, or operators and all users. Requests of others are refused before
   * anything is read.
   */
  readonly who: 'operator' | 'publisher' | 'both'
  /** A member of every reply. It distinguishes the reply from anything else that may answer in its place. */
  readonly mark: string
  /** Of the query or the body. */
  readonly schema: z.ZodType<unknown, Input>
  /** Answers with an object for JSON, with a `csv` file, or with a `picture`. */
  answer(input: unknown, context: Context): Promise<Reply>
}

function endpointOf<Method extends 'GET' | 'POST'>(method: Method, what: string) {
  return <
    Path extends string,
    Mark extends string,
    Input,
    Output extends object,
    Reply extends Readonly<Record<Mark, unknown>>,
  >(
    path: Path,
    who: Endpoint['who'],
    mark: Mark,
    schema: z.ZodType<Output, Input>,
    answer: (input: Output, context: Context) => Promise<Reply>,
  ): Endpoint<Method, Path, Input, Reply> => ({
    method,
    path,
    who,
    mark,
    schema,
    answer: (input, context) => answer(parseInput(schema, input, what), context),
  })
}

/** An endpoint that reads. */
export const get = endpointOf('GET', 'query')
/** An endpoint that writes. */
export const post = endpointOf('POST', 'body')

export const emptySchema = z.strictObject({})

/** A time in a query. */
export const timeTextSchema = z
  .string()
  .regex(/^\d{1,15}$/, 'must be milliseconds since the Unix epoch')
  .transform(Number)

export function limitSchema(most: number, usual: number) {
  return z
    .string()
    .regex(/^[1-9]\d{0,3}$/, `must be from 1 to ${most}`)
    .transform(Number)
    .refine((value) => value <= most, `must be from 1 to ${most}`)
    .default(usual)
}

/** Throws if an operator has not named an account: it has none of its own. */
export function requireAccount(account: string | undefined): string {
  if (account !== undefined) return account
  throw new HttpError(400, 'account is missing: name one', 'account')
}

/** The reply to a change that was made. */
export const DONE: { readonly done: true } = { done: true }

/** Throws a 404 if nothing with that id was found. */
export function done(found: boolean, what: string, id: string): typeof DONE {
  if (!found) throw notFound(`There is no ${what} ${JSON.stringify(id)}`, 'id')
  return DONE
}
