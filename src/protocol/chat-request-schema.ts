import * as z from 'zod'
import { parseCredits } from '../money.js'
import { KNOWN_FIELDS } from './request-fields/known-fields.js'
import { MAX_MESSAGES } from './request-fields/messages.js'
import { isPlainText, isWellFormed } from './text.js'

const MAX_PARTS = 1_000
const MAX_ROUTING_NAMES = 32
const LABEL_BYTES = 256
const SESSION_ID_BYTES = 1_024
const ENVELOPE_BYTES = 8_192

/** `v1.` and a compact JWE, whose second part is empty under direct key agreement. */
const ENVELOPE = /^v1\.[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+$/

const ENVELOPE_RULE =
  'must be an encrypted envelope (v1.…, at most 8 KiB) sealed with a key from GET /envelope-keys, never a plaintext key'

/** A schema's words for a wrong value, which follow the name of the field. They never show the value. */
function mustBe(what: string) {
  return {
    error: (issue: { readonly input?: unknown }) =>
      issue.input === undefined ? 'is required' : `must be ${what}`,
  }
}

/** Whether a string can be a session id: 1 to 1,024 bytes of UTF-8 without a lone surrogate. */
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
 * The decimal string of a price limit, or undefined where it is none. A number is taken at its shortest spelling, so
 * that 0.15 is `'0.15'`; one that needs more than nine places is none.
 */
export function priceLimit(value: number | string): string | undefined {
  let text = String(value)
  // Numbers below 10^-6 are spelt with an exponent.
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
        .describe('Whether another route may be tried when the first fails. True by default.'),
      sort: z
        .enum(['price', 'latency', 'throughput'], mustBe("'price', 'latency' or 'throughput'"))
        .optional(),
      max_price: z
        .strictObject({ input: price, output: price, request: price }, mustBe('an object'))
        .optional()
        .describe('A route dearer in any one of these is not used.'),
      require_parameters: z
        .boolean(mustBe('a boolean'))
        .optional()
        .describe('Use only routes that support every parameter of the request.'),
    },
    mustBe('an object'),
  )
  .nullish()

const contentPart = z.looseObject({ type: z.string() })

/** How the API document shows a message; `request-fields/messages.ts` reads it. */
const messageSchema = z.looseObject({
  role: z.string(),
  content: z
    .union([z.string(), z.array(contentPart).max(MAX_PARTS), z.null()])
    .optional()
    .describe(
      'Null or absent only on an assistant message that has something else, such as `tool_calls` or `refusal`.',
    ),
})

const fields = {
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
          ? 'must be a string that names the provider of provider_key; to steer the choice of provider, use routing'
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

/** What is the router's own in a request, and its model. */
export const outlineSchema = z.object(fields)

export type RequestOutline = z.infer<typeof outlineSchema>

/** A whole request, as the API document shows it. */
export const chatRequestSchema = z.looseObject({
  ...fields,
  messages: z.array(messageSchema).min(1).max(MAX_MESSAGES),
  ...Object.fromEntries(
    [...KNOWN_FIELDS].map(([name, { schema, takes }]) => [
      name,
      schema.nullish().describe(`Takes ${takes}.`),
    ]),
  ),
})
