import { z } from 'zod'
import type { Admin } from '../../admin/index.js'
import type { Clock } from '../../base/clock.js'
import { parseInput } from '../../rules/schemas.js'
import type { EventLog } from './event-log.js'
import { HttpError } from './http-error.js'
import type { ObservedRouters } from './observed-routers.js'
import type { FileReply } from './reply.js'
import type { ConsoleViewer } from './viewer.js'

/** The services that every endpoint uses. */
export interface Services {
  readonly admin: Admin
  readonly log: EventLog
  readonly routers: ObservedRouters
  readonly routerPath: string
  /** Whether an account may publish apps. */
  readonly publish: (account: string) => boolean | Promise<boolean>
  readonly clock: Clock
}

/** A request whose sender may use the endpoint. */
export interface EndpointRequest {
  readonly viewer: ConsoleViewer
  readonly query: Readonly<Record<string, string>>
  /** Empty for GET. */
  readonly body: Readonly<Record<string, unknown>>
}

export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** Relative to `api/`. */
  readonly path: string
  /**
   * Operators, users whose account may publish apps, or operators and all users. Requests of others are refused before
   * anything is read.
   */
  readonly who: 'operator' | 'publisher' | 'both'
  answer(request: EndpointRequest, services: Services): Promise<object | CsvReply | PictureReply>
}

/** A file instead of JSON. */
export interface CsvReply {
  readonly csv: FileReply
}

/** A picture instead of JSON. */
export interface PictureReply {
  readonly picture: { readonly type: string; readonly bytes: Uint8Array }
}

/** An endpoint that reads. */
export function get<Query extends object>(
  path: string,
  who: Endpoint['who'],
  schema: z.ZodType<Query>,
  answer: (
    query: Query,
    request: EndpointRequest,
    services: Services,
  ) => Promise<object | CsvReply | PictureReply>,
): Endpoint {
  return {
    method: 'GET',
    path,
    who,
    answer: (request, services) => answer(parseInput(schema, request.query, 'query'), request, services),
  }
}

/** An endpoint that writes. */
export function post<Body extends object>(
  path: string,
  who: Endpoint['who'],
  schema: z.ZodType<Body>,
  answer: (body: Body, request: EndpointRequest, services: Services) => Promise<object>,
): Endpoint {
  return {
    method: 'POST',
    path,
    who,
    answer: (request, services) => answer(parseInput(schema, request.body, 'body'), request, services),
  }
}

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

/** Throws a 404 if nothing with that id was found. */
export function done(found: boolean, what: string, id: string): { readonly done: true } {
  if (!found) throw new HttpError(404, `There is no ${what} ${JSON.stringify(id)}`, 'id')
  return { done: true }
}
