import { z } from 'zod'
import { parseCredits } from '../money.js'
import { parsePrices } from '../prices.js'

/**
 * Copies a value in the shape of a schema, frozen where the schema says `readonly`.
 * Throws a `TypeError` that says where the first fault is; it never shows the value.
 */
export function readShape<Output>(schema: z.ZodType<Output>, value: unknown, what: string): Output {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  throw new TypeError(`${[what, ...issue.path].join('.')}: ${issue.message}`)
}

const MAX_NAME_BYTES = 256
const MAX_LABEL_CHARS = 1_000
const UNPRINTABLE_PATTERN = /[\p{Cc}\p{Surrogate}]/u

/** A name that a store, an event and a header can carry. */
export const nameShape = z
  .string()
  .refine(
    (text) => text !== '' && Buffer.byteLength(text) <= MAX_NAME_BYTES && !UNPRINTABLE_PATTERN.test(text),
    `must be 1 to ${MAX_NAME_BYTES} bytes of text without control characters`,
  )

/** Text that people read. */
export const labelShape = z
  .string()
  .max(MAX_LABEL_CHARS)
  .refine((text) => !UNPRINTABLE_PATTERN.test(text), 'must be text without control characters')

/** Milliseconds since the Unix epoch. */
export const timeShape = z.int().positive()

export const textsShape = z.array(z.string()).readonly()

/** A decimal string of credits, zero or more. */
export const creditsShape = z.string().superRefine(readBy(parseCredits))

const priceFields = {
  input: z.string(),
  output: z.string(),
  cachedInput: z.string().optional(),
  cacheWrite: z.string().optional(),
  reasoning: z.string().optional(),
  request: z.string().optional(),
}

export const pricesShape = z
  .strictObject({
    ...priceFields,
    tiers: z
      .array(z.strictObject({ ...priceFields, above: z.number() }).readonly())
      .readonly()
      .optional(),
  })
  .superRefine(readBy(parsePrices))
  .readonly()

const tokensShape = z.int().positive()

/** A model as a host gives it: `created` is 0 by default, `ownedBy` is left to who reads it. */
export const modelShape = z.strictObject({
  id: nameShape,
  created: z.int().nonnegative().default(0),
  ownedBy: z.string().optional(),
  root: z.string().optional(),
  parent: z.string().nullable().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  contextLength: tokensShape.optional(),
  maxOutputTokens: tokensShape.optional(),
  supportedParameters: textsShape.optional(),
  modalities: textsShape.optional(),
  prices: pricesShape.optional(),
  priceVersion: z.string().optional(),
})

interface Context {
  addIssue(issue: { code: 'custom'; message: string }): void
}

/** A check that holds where `read` does not throw. */
function readBy<Value>(read: (value: Value) => unknown): (value: Value, context: Context) => void {
  return (value, context) => {
    try {
      read(value)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
    }
  }
}
