import { z } from 'zod'
import { parseCredits } from '../money.js'
import { parsePrices } from '../prices.js'

/**
 * Copies a value in the shape of a schema. Throws a `TypeError` that says where the first fault is and never shows the
 * value.
 */
export function readShape<Output>(schema: z.ZodType<Output>, value: unknown, what: string): Output {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  throw new TypeError(`${[what, ...issue.path].join('.')}: ${issue.message}`)
}

const MAX_NAME_BYTES = 256
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
  .max(1_000)
  .refine((text) => !UNPRINTABLE_PATTERN.test(text), 'must be text without control characters')

/** Milliseconds since the Unix epoch. */
export const timeShape = z.int().positive()

export const textsShape = z.array(z.string())

/** A decimal string of credits, zero or more. */
export const creditsShape = z.string().superRefine((text, context) => {
  addIssueOf(() => parseCredits(text), context)
})

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
    tiers: z.array(z.strictObject({ ...priceFields, above: z.number() })).optional(),
  })
  .superRefine((prices, context) => {
    addIssueOf(() => parsePrices(prices), context)
  })

function addIssueOf(
  read: () => unknown,
  context: { addIssue(issue: { code: 'custom'; message: string }): void },
) {
  try {
    read()
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message })
  }
}
