import * as z from 'zod'
import { CompatError, type ErrorCode } from '../../base/errors.js'
import { parseCredits } from '../../base/money.js'
import type { JsonObject } from '../json-values.js'
import { isModelKey, modelNotFound } from '../model-key.js'
import { isPlainText, isWellFormed } from '../text.js'
import type { RequestReading } from './reading.js'

/** A caller's preferences for the choice of route. */
export interface RoutingPreferences {
  readonly order?: readonly string[]
  readonly only?: readonly string[]
  readonly ignore?: readonly string[]
  readonly allowFallbacks: boolean
  readonly sort?: 'price' | 'latency' | 'throughput'
  /** Decimal strings, in the same units as prices. */
  readonly maxPrice?: { readonly input?: string; readonly output?: string; readonly request?: string }
  readonly requireParameters: boolean
}

/** The router's own fields, which never reach a provider. */
export interface OwnFields {
  readonly sessionId?: string
  readonly provider?: string
  readonly providerKey?: string
  readonly routing?: RoutingPreferences
  readonly appId?: string
  readonly action?: unknown
  readonly connected?: unknown
}

const MAX_ROUTING_NAMES = 32
const LABEL_BYTES = 256
const SESSION_ID_BYTES = 1_024
const ENVELOPE_BYTES = 8_192

/** `v1.` and a compact JWE, whose second part is empty under direct key agreement. */
const ENVELOPE = /^v1\.[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+$/

const ENVELOPE_RULE =
  'must be an encrypted envelope (v1.…, at most 8 KiB) sealed with a key from GET /envelope-keys, never a plaintext key'

/** Returns a schema's message for an invalid value. It follows the name of the field and never shows the value. */
function mustBe(what: string) {
  return {
    error: (issue: { readonly input?: unknown }) =>
      issue.input === undefined ? 'is required' : `must be ${what}`,
  }
}

/** Whether a string can be a session id: 1 to 1,024 bytes of UTF-8, without lone surrogates. */
function isSessionId(text: string): boolean {
  return (
    text !== '' &&
    text.length <= SESSION_ID_BYTES &&
    Buffer.byteLength(text) <= SESSION_ID_BYTES &&
    isWellFormed(text)
  )
}

const SESSION_ID_RULE = 'must be a string of 1 to 1,024 bytes of well-formed UTF-8'

function isLabel(text: string): boolean {
  return (
    text !== '' && text.length <= LABEL_BYTES && Buffer.byteLength(text) <= LABEL_BYTES && isPlainText(text)
  )
}

function label(what: string) {
  return z
    .string(mustBe(what))
    .refine(isLabel, `must be ${what} of 1 to 256 bytes without control characters`)
    .meta({ minLength: 1, maxLength: LABEL_BYTES })
}

/**
 * Returns the decimal string of a price limit, or undefined if it is invalid. A number is read as its shortest decimal, so
 * 0.15 is `'0.15'`. A number with more than nine places is invalid.
 */
export function priceLimit(value: number | string): string | undefined {
  let text = String(value)
  // JavaScript writes numbers below 10^-6 with an exponent.
  if (typeof value === 'number' && text.includes('e')) {
    text = value.toFixed(9)
    if (Number(text) !== value) return undefined
    text = text.replace(/0{1,9}$/, '')
  }
  try {
    parseCredits(text)
    return text
  } catch {
    return undefined
  }
}

const price = z
  .union([z.number(), z.string()], 'must be a number or a decimal string')
  .refine(
    (value) => priceLimit(value) !== undefined,
    "must be zero or more with at most nine places, such as 0.15 or '0.15'",
  )
  .optional()
  .describe('Credits per million tokens (`request`: per call), before markup.')

const providerNames = z
  .array(label('a provider name'), mustBe('an array of provider names'))
  .max(MAX_ROUTING_NAMES, 'must name at most 32 providers')
  .optional()

const routing = z
  .strictObject(
    {
      order: providerNames.describe('Providers to try first, in this order.'),
      only: providerNames.describe('The only providers that may serve the request.'),
      ignore: providerNames.describe('Providers that may not serve the request.'),
      allow_fallbacks: z
        .boolean(mustBe('a boolean'))
        .optional()
        .describe('Whether another route may be tried if the first one fails. True by default.'),
      sort: z
        .enum(['price', 'latency', 'throughput'], mustBe("'price', 'latency' or 'throughput'"))
        .optional(),
      max_price: z
        .strictObject({ input: price, output: price, request: price }, mustBe('an object'))
        .optional()
        .describe('A route that exceeds any of these prices is not used.'),
      require_parameters: z
        .boolean(mustBe('a boolean'))
        .optional()
        .describe('Use only routes that support every parameter of the request.'),
    },
    mustBe('an object'),
  )
  .nullish()

/** The model and the router's own fields, which every operation accepts. */
export const outlineFields = {
  model: z
    .string(mustBe('a string, the id of a model from GET /models'))
    .min(1, 'must not be empty')
    .describe('The id of a model from GET /models.'),
  session_id: z.string(SESSION_ID_RULE).refine(isSessionId, SESSION_ID_RULE).optional().meta({
    minLength: 1,
    maxLength: SESSION_ID_BYTES,
    description: 'Groups the requests of one session. 1 to 1,024 bytes of UTF-8.',
  }),
  provider: z
    .string({
      error: (issue) =>
        typeof issue.input === 'object' && issue.input !== null
          ? 'must be a string that names the provider of provider_key; to choose among providers, use routing'
          : 'must be a string',
    })
    .refine(isLabel, 'must be a provider name of 1 to 256 bytes without control characters')
    .optional()
    .meta({
      minLength: 1,
      maxLength: LABEL_BYTES,
      description: 'With `provider_key`, the one provider that serves the request.',
    }),
  provider_key: z
    .string(ENVELOPE_RULE)
    .max(ENVELOPE_BYTES, { error: ENVELOPE_RULE, abort: true })
    .regex(ENVELOPE, ENVELOPE_RULE)
    .optional()
    .describe(
      'Your own key for `provider`, sealed with a key from GET /envelope-keys. Never a plaintext key.',
    ),
  routing: routing.describe('How to choose among the routes of the model.'),
  app_id: label('a string').nullish(),
  action: z.unknown().optional().describe('Recorded, and not passed to the provider.'),
  connected: z.unknown().optional().describe('Recorded, and not passed to the provider.'),
}

const outlineSchema = z.object(outlineFields)

export type RequestOutline = z.infer<typeof outlineSchema>

export const OUTLINE_NAMES: ReadonlySet<string> = new Set(Object.keys(outlineFields))

/** The router's own fields whose faults have a separate error code. */
export const OUTLINE_CODES = [
  ['provider_key', 'provider_key_not_encrypted'],
  ['session_id', 'invalid_session_id'],
] as const satisfies readonly (readonly [string, ErrorCode])[]

/** Most requests have none of these. Without the schema they take a microsecond and a kilobyte less. */
const BESIDE_MODEL = [...OUTLINE_NAMES].filter((name) => name !== 'model')

/** Reads the model and the router's own fields. If any is invalid, adds faults to `reading` and returns undefined. */
export function readOutline(body: JsonObject, reading: RequestReading): RequestOutline | undefined {
  const { model } = body
  if (typeof model === 'string' && isModelKey(model) && isModelAlone(body)) return { model }
  const outline = outlineSchema.safeParse(body)
  if (outline.success) {
    if (!isModelKey(outline.data.model)) throw modelNotFound(outline.data.model)
    return outline.data
  }
  reading.faults.addIssues(outline.error.issues)
  return undefined
}

function isModelAlone(body: JsonObject): boolean {
  for (let index = 0; index < BESIDE_MODEL.length; index++)
    if (body[BESIDE_MODEL[index]!] !== undefined) return false
  return true
}

/** Returns the router's own fields. Throws 400 if only one of `provider` and `provider_key` is present. */
export function ownFields(outline: RequestOutline): OwnFields {
  const { provider, provider_key: providerKey } = outline
  if (provider !== undefined && providerKey === undefined) {
    throw new CompatError(
      'invalid_request',
      'provider_key is required with provider. To choose a provider without your own key, use routing.only.',
      { param: 'provider_key' },
    )
  }
  if (providerKey !== undefined && provider === undefined) {
    throw new CompatError(
      'invalid_request',
      'provider is required with provider_key: the name of the provider that the key is for.',
      { param: 'provider' },
    )
  }
  return {
    sessionId: outline.session_id,
    provider,
    providerKey,
    routing: outline.routing == null ? undefined : routingPreferences(outline.routing),
    appId: outline.app_id ?? undefined,
    action: outline.action,
    connected: outline.connected,
  }
}

function routingPreferences(routing: NonNullable<RequestOutline['routing']>): RoutingPreferences {
  const { max_price: most } = routing
  const limit = (value: number | string | undefined) => (value === undefined ? undefined : priceLimit(value))
  return {
    order: routing.order,
    only: routing.only,
    ignore: routing.ignore,
    allowFallbacks: routing.allow_fallbacks ?? true,
    sort: routing.sort,
    maxPrice: most && { input: limit(most.input), output: limit(most.output), request: limit(most.request) },
    requireParameters: routing.require_parameters ?? false,
  }
}
