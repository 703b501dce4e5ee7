import { z } from 'zod'
import { type InputPlace, invalidInput } from '../base/invalid-input.js'
import { formatCredits, MAX_CREDITS, parseCredits } from '../base/money.js'
import { beginsAtMidnight, PERIOD_NAMES, type Period } from '../base/periods.js'
import { MAX_MARKUP_BASIS_POINTS, OPTIONAL_PRICES } from '../base/prices.js'
import { isWebOrigin } from '../base/web-address.js'
import type { AppModels } from '../contracts/credentials.js'
import { resembles } from './read-options.js'
import { describeFault, describePath, mustBe } from './schema-faults.js'

/**
 * Returns a copy of an object that matches a schema; `readonly` parts are frozen. Otherwise throws a `TypeError` with the
 * path of the fault, the fault and its remedy, never the value.
 */
export function parseInput<Output>(schema: z.ZodType<Output>, value: unknown, of: string): Output {
  return parseAt(schema, value, { of })
}

/** Like {@link parseInput}, for a value that was given by itself, or beside the object. */
export function parseField<Output>(
  schema: z.ZodType<Output>,
  value: unknown,
  field: string,
  of?: string,
): Output {
  return parseAt(schema, value, { field, of })
}

function parseAt<Output>(schema: z.ZodType<Output>, value: unknown, { field, of }: InputPlace): Output {
  const result = schema.safeParse(value, { error: describeFault })
  if (result.success) return result.data
  const { issues } = result.error
  // If a member is also missing, a misspelt name is the likely cause.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]!
  const path = issue.code === 'invalid_key' ? issue.path.slice(0, -1) : issue.path
  const names = [...(field === undefined ? [] : [field]), ...(path.length === 0 ? [] : [describePath(path)])]
  throw invalidInput({ of, field: names.length === 0 ? undefined : names.join('.') }, issue.message)
}

const MAX_NAME_BYTES = 256
const MAX_LABEL_CHARS = 1_000
/** Includes overrides of writing direction, which make a text look different from its content. */
const UNPRINTABLE_PATTERN = /[\p{Cc}\p{Surrogate}\u202a-\u202e\u2066-\u2069]/u

/** Whether a text has no control characters, lone surrogates or overrides of writing direction. */
export function isPrintable(text: string): boolean {
  return !UNPRINTABLE_PATTERN.test(text)
}

/** A name that a store, an event and a header can carry. */
export const nameSchema = z
  .string()
  .refine(
    (text) => text !== '' && Buffer.byteLength(text) <= MAX_NAME_BYTES && isPrintable(text),
    `must be 1 to ${MAX_NAME_BYTES} bytes of text without control characters or direction overrides`,
  )

/** The path that a host mounts something at. */
export const basePathSchema = z
  .string()
  .regex(
    /^(?:\/[^?#\s]*)?$/,
    "must begin with a slash and contain no query, fragment or white space, such as '/compat/v1'",
  )

/** Text that people read. */
export const labelSchema = z
  .string()
  .max(MAX_LABEL_CHARS)
  .refine(isPrintable, 'must be text without control characters or direction overrides')

/** How messages describe a time. */
const TIME = 'a time in milliseconds since the Unix epoch'

/** The beginning of 2001 and the end of 2969 in seconds. As milliseconds, both are in 1970. */
const EARLIEST_SECONDS = 978_307_200
const LATEST_SECONDS = 31_535_999_999

function isNotInSeconds(time: number): boolean {
  return time < EARLIEST_SECONDS || time > LATEST_SECONDS
}

const IN_SECONDS = `must be ${TIME}; this one is in 1970: multiply seconds by 1,000`

/** The last millisecond that a `Date` can represent. */
const LATEST_TIME = 8_640_000_000_000_000

/** Milliseconds since the Unix epoch, fractions allowed. */
export const momentSchema = z.number(mustBe(TIME)).refine(isNotInSeconds, IN_SECONDS)

/** Milliseconds since the Unix epoch. */
export const timeSchema = z.int(mustBe(TIME)).positive().max(LATEST_TIME).refine(isNotInSeconds, IN_SECONDS)

/** A list whose items are checked one by one later. */
export const listSchema = z.array(z.unknown())

/** How many rows to return at most. */
export const rowsSchema = z.int().min(1)

/** An id for a look-up. It need not be a name that could be stored. */
export const idSchema = z.string()

/** Ids to search for. */
export const idsSchema = z.array(idSchema).readonly()

/**
 * Creates an optional field that selects whose rows are meant. An explicit `undefined` is refused: it would drop the
 * filter and show everybody's rows to a user whose session has ended.
 */
export function whose<Output>(schema: z.ZodType<Output, unknown>) {
  return neverUndefined(schema, 'for all')
}

/** The optional reference of a posting. An explicit `undefined` is refused: a repeat would post a second time. */
export const referenceSchema = neverUndefined(nameSchema, 'if no repeat needs to be recognised')

/** An optional field that restricts a new key. An explicit `undefined` is refused: it would allow more than was meant. */
export function restriction<Output>(schema: z.ZodType<Output, unknown>) {
  return neverUndefined(schema, 'for no restriction')
}

function neverUndefined<Output>(schema: z.ZodType<Output, unknown>, leftOut: string) {
  return z
    .unknown()
    .refine(
      (value): boolean => value !== undefined,
      `is undefined: give a value, or leave the field out ${leftOut}`,
    )
    .pipe(schema)
    .exactOptional()
}

/** The maximum number of entries in a list of keys that a user or the owner of an app writes. */
export const MAX_OWN_KEYS = 200
const MAX_KEYS = 2_000
const MAX_KEY_BYTES = 65_536

/**
 * Creates a list of texts that are compared as a whole, such as model ids. Removes duplicates. Calls read such lists,
 * so they are bounded. A longer list that is already stored continues to work.
 */
export function keysSchema(item: z.ZodType<string, string> = z.string(), most = MAX_KEYS) {
  return z
    .array(item)
    .max(most)
    .refine(
      (keys) => keys.reduce((bytes, key) => bytes + Buffer.byteLength(String(key)), 0) <= MAX_KEY_BYTES,
      `must have at most ${MAX_KEY_BYTES / 1_024} KiB of text`,
    )
    .transform((keys): readonly string[] => Object.freeze([...new Set(keys)]))
}

/** Creates the models of an app: `'all'`, or a list as of {@link keysSchema}, whose faults keep their places. */
export function appModelsSchema(
  item?: z.ZodType<string, string>,
  most?: number,
): z.ZodType<AppModels, AppModels> {
  const list = keysSchema(item, most)
  return z.custom<AppModels>().transform((models, context) => {
    if (models === 'all') return models
    const read = list.safeParse(models, {
      error: typeof models === 'string' ? mustBe(APP_MODELS).error : describeFault,
    })
    if (read.success) return read.data
    for (const { path, message } of read.error.issues) context.addIssue({ code: 'custom', path, message })
    return z.NEVER
  })
}

const APP_MODELS = "a list of model ids, or 'all'"

/** A host's own notes about a credential. */
export const metadataSchema = z
  .record(z.string(), z.string())
  .refine(
    (metadata) => Buffer.byteLength(JSON.stringify(metadata)) <= MAX_KEY_BYTES,
    `must have at most ${MAX_KEY_BYTES / 1_024} KiB as JSON`,
  )
  .readonly()

/** The scopes that requests need. A host may have others of its own. */
const SCOPES = ['models.run', 'credits.read']

const lettersOf = (text: string): string => text.replaceAll(/\P{L}/gu, '')

/** Refuses a misspelt scope of the router, since every call with the token would be refused. */
export const scopesSchema = keysSchema(
  z.string().superRefine((scope, context) => {
    if (SCOPES.includes(scope)) return
    const meant = SCOPES.find((known) => resembles(lettersOf(scope), lettersOf(known)))
    if (meant !== undefined) context.addIssue(`is not a scope of the router; did you mean "${meant}"?`)
  }),
)

const ORIGIN = "an origin, https or on loopback, as browsers send it, such as 'https://notes.example'"

/** Origins of web pages. */
export const originsSchema = keysSchema(z.string(mustBe(ORIGIN)).refine(isWebOrigin, `must be ${ORIGIN}`))

const CREDITS = "a decimal string of credits, zero or more, with at most 9 places, such as '0.15'"

/** A decimal string of credits, zero or more. */
export const creditsSchema = z.string(mustBe(CREDITS)).refine(isCredits, `must be ${CREDITS}`)

const SIGNED_CREDITS = "a decimal string of credits with at most 9 places, such as '5.00' or '-1.50'"

/** Like {@link creditsSchema}, with an optional minus sign. */
export const signedCreditsSchema = z
  .string(mustBe(SIGNED_CREDITS))
  .refine(
    (text) => isCredits(text.replace('-', '')) && text.lastIndexOf('-') <= 0,
    `must be ${SIGNED_CREDITS}`,
  )

export const markupSchema = z
  .strictObject({
    basisPoints: z.int().min(0).max(MAX_MARKUP_BASIS_POINTS),
    flat: creditsSchema.optional(),
  })
  .readonly()

const priceFields = {
  input: creditsSchema,
  output: creditsSchema,
  ...optionalFields(OPTIONAL_PRICES, creditsSchema),
}

function optionalFields<Name extends string, Schema extends z.ZodType>(
  names: readonly Name[],
  schema: Schema,
) {
  return Object.fromEntries(names.map((name) => [name, schema.optional()])) as Record<
    Name,
    z.ZodOptional<Schema>
  >
}

export const pricesSchema = z
  .strictObject({
    ...priceFields,
    tiers: z
      .array(z.strictObject({ ...priceFields, above: z.int().nonnegative() }).readonly())
      .refine(
        (tiers) => new Set(tiers.map(({ above }) => above)).size === tiers.length,
        'must not have the same above twice: one of the two would never apply',
      )
      .readonly()
      .optional(),
  })
  .readonly()

const ZONE_FAULT = 'is only for limits per day, week or month: the others are the same in every zone'

/** The name of a time zone. */
export const zoneSchema = z
  .string()
  .refine(isZone, "must be the name of a time zone, such as 'America/New_York' or 'UTC'")

const limitFields = {
  id: nameSchema,
  unit: z.enum(['credits', 'requests', 'tokens']),
  per: z.enum(PERIOD_NAMES),
  zone: zoneSchema.optional(),
}

const OWNERS = ['credential', 'account', 'app'] as const

/** The credits that a session may spend. */
export const budgetSchema = z
  .strictObject({
    amount: creditsSchema.refine(
      (text) => !isCredits(text) || parseCredits(text) <= MAX_CREDITS,
      `must be at most ${formatCredits(MAX_CREDITS)} credits`,
    ),
    per: limitFields.per.default('total'),
    zone: limitFields.zone,
  })
  .refine(hasUsefulZone, { path: ['zone'], error: ZONE_FAULT })

/** A `Limit`, with a bigint. */
export const limitSchema = z
  .strictObject({
    ...limitFields,
    amount: z
      .bigint(mustBe("a bigint, such as 60n or parseCredits('20')"))
      .refine((amount) => amount >= 0n && amount <= MAX_CREDITS, 'must be from 0n to 2n ** 63n - 1n'),
    of: z.enum(OWNERS).optional(),
    ownerId: nameSchema.optional(),
  })
  .refine(hasUsefulZone, { path: ['zone'], error: ZONE_FAULT })
  .readonly()

/** The limits of one caller. */
export const limitsSchema = z
  .array(limitSchema)
  .refine((limits) => new Set(limits.map(({ id }) => id)).size === limits.length, 'must not have an id twice')
  .readonly()

const WHOLE_AMOUNT = {
  path: ['amount'],
  error: "must be a whole number of requests or tokens as a string, such as '60'",
}

/** A `Limit` with its owner, and its amount as a decimal string. */
export const ownedLimitSchema = z
  .strictObject({ ...limitFields, amount: creditsSchema, of: z.enum(OWNERS), ownerId: nameSchema })
  .refine(hasUsefulZone, { path: ['zone'], error: ZONE_FAULT })
  .refine(hasFittingAmount, WHOLE_AMOUNT)

const { id: _, ...newLimitFields } = limitFields
const MAX_NEW_LIMITS = 10

/** The limits of a credential that is made with them, which gives them their ids. */
export const newLimitsSchema = z
  .array(
    z
      .strictObject({ ...newLimitFields, amount: creditsSchema })
      .refine(hasUsefulZone, { path: ['zone'], error: ZONE_FAULT })
      .refine(hasFittingAmount, WHOLE_AMOUNT),
  )
  .max(MAX_NEW_LIMITS)
  .refine(
    (limits) => new Set(limits.map(({ unit, per }) => `${unit} ${per}`)).size === limits.length,
    'must have each unit once a period',
  )

function hasFittingAmount({ unit, amount }: { readonly unit: string; readonly amount: string }): boolean {
  return unit === 'credits' || /^\d+$/.test(amount)
}

function hasUsefulZone({
  per,
  zone,
}: { readonly [name in keyof Period]: Period[name] | undefined }): boolean {
  return zone === undefined || (per !== undefined && beginsAtMidnight(per))
}

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

export const tokensSchema = z.int().positive()

const mediaTokensSchema = z.union(
  [
    tokensSchema,
    z
      .strictObject({
        image: tokensSchema.optional(),
        audio: tokensSchema.optional(),
        video: tokensSchema.optional(),
        pdf: tokensSchema.optional(),
        archive: tokensSchema.optional(),
      })
      .readonly(),
  ],
  'must be a whole number of tokens above 0, or an object with such numbers for image, audio, video, pdf or archive',
)

/** A model as a host defines it. `created` is 0 by default; each reader has its own default for `ownedBy`. */
export const modelSchema = z.strictObject({
  id: nameSchema,
  created: z.int().nonnegative().default(0),
  ownedBy: z.string().optional(),
  root: z.string().optional(),
  parent: z.string().nullable().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  contextLength: tokensSchema.optional(),
  maxOutputTokens: tokensSchema.optional(),
  defaultOutputTokens: tokensSchema.optional(),
  mediaTokens: mediaTokensSchema.optional(),
  promptOverhead: z.int().nonnegative().optional(),
  dimensions: z.int().positive().optional(),
  supportedParameters: keysSchema().optional(),
  operations: keysSchema().optional(),
  modalities: keysSchema().optional(),
  prices: pricesSchema.optional(),
  priceVersion: z.string().optional(),
})

/** The members of a route that are the same wherever routes are kept. */
export const routeFields = {
  enabled: z.boolean().optional(),
  byok: z.enum(['yes', 'no', 'only']).optional(),
  prices: pricesSchema.optional(),
  defaultOutputTokens: tokensSchema.optional(),
  onDisconnect: z.enum(['abort', 'drain']).optional(),
  promptEscapes: z.enum(['ascii', 'html']).optional(),
  weight: z.number().nonnegative().optional(),
}

function isCredits(text: string): boolean {
  try {
    parseCredits(text)
    return true
  } catch {
    return false
  }
}
