import * as z from 'zod'
import type { Asked } from '../../contracts/operation.js'
import type { EmbeddingInput, EmbeddingRequest } from '../../protocol/embedding-request.js'
import type { JsonObject } from '../../protocol/json-values.js'
import { KNOWN_FIELDS } from '../../protocol/request-fields/known-fields.js'
import { closeRequest, openRequest, readUnknown } from '../../protocol/request-fields/open-request.js'
import { OUTLINE_NAMES, outlineFields } from '../../protocol/request-fields/own-fields.js'
import type { RequestReading } from '../../protocol/request-fields/reading.js'
import { REFUSED_FIELDS, Spellings } from '../../protocol/request-fields/refused-fields.js'

export interface AskedEmbeddings extends Asked {
  /** The request for providers, with the model key as `model`. */
  readonly forward: EmbeddingRequest
  /** The number of embeddings that the reply must have. */
  readonly count: number
  readonly format: 'float' | 'base64'
}

export const MAX_INPUTS = 2_048
const MAX_DIMENSIONS = 1_000_000
const INPUT_RULE = 'must be a string, a list of strings, a list of tokens, or a list of lists of tokens'

const tokens = z.array(z.int().min(0)).min(1)

/** The fields other than the input, with the error message for an invalid value. */
const FIELDS = {
  encoding_format: [z.enum(['float', 'base64']), "must be 'float' or 'base64'"],
  dimensions: [z.int().min(1).max(MAX_DIMENSIONS), 'must be a positive integer'],
  user: [z.string(), 'must be a string'],
  stream: [z.literal(false), 'must be false: embeddings cannot be streamed'],
} as const

/** A whole request in the OpenAPI document. */
export const embeddingsRequestSchema = z.looseObject({
  ...outlineFields,
  input: z
    .union([
      z.string().min(1),
      z.array(z.string().min(1)).min(1).max(MAX_INPUTS),
      tokens,
      z.array(tokens).min(1).max(MAX_INPUTS),
    ])
    .describe('The texts to embed, or their tokens. At most 2,048 inputs, none of them empty.'),
  encoding_format: FIELDS.encoding_format[0]
    .nullish()
    .describe('The form of each embedding: numbers (the default), or base64 of 32-bit floats.'),
  dimensions: FIELDS.dimensions[0]
    .nullish()
    .describe('The length of each embedding, if the model can vary it.'),
  user: FIELDS.user[0].nullish().describe('A label for the end user.'),
})

const READ: ReadonlySet<string> = new Set([...OUTLINE_NAMES, 'input', '__proto__', ...Object.keys(FIELDS)])
const NOT_HERE = 'It is a field of POST /chat/completions'
/** Fields that no host can allow. Includes those of a chat, since a model's list of parameters names them for chats. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...[...KNOWN_FIELDS.keys(), 'messages']
    .filter((name) => !READ.has(name))
    .map((name) => [name, NOT_HERE] as const),
  ...REFUSED_FIELDS,
])
const SPELLINGS = new Spellings([...OUTLINE_NAMES, 'input', ...Object.keys(FIELDS), ...REFUSED.keys()])

/**
 * Checks a request body and splits it into the part for providers and the router's own fields. Throws a `CompatError`
 * of status 400, or of status 404 if no model can have the name `model`.
 */
export function parseEmbeddingsRequest(body: JsonObject): AskedEmbeddings {
  const request = openRequest(body, SPELLINGS, REFUSED)
  const { reading } = request
  const input = readInput(body.input, reading)
  const { dimensions, encoding_format: format, user } = readFields(body, reading)
  const unknown = readUnknown(body, request, READ)
  const { leftOut, model, own, unlisted } = closeRequest(request)
  return {
    model,
    stream: false,
    own,
    user: user as string | undefined,
    unlisted,
    leftOut,
    // Providers are never sent a format: some refuse the field, and the reply is converted here.
    forward: Object.assign(
      { model, input },
      dimensions !== undefined && { dimensions: dimensions as number },
      user !== undefined && { user: user as string },
      unknown,
    ),
    count: Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1,
    format: format === 'base64' ? 'base64' : 'float',
  }
}

/** Returns the input. Returns an empty one if it is invalid. */
function readInput(input: unknown, { faults }: RequestReading): EmbeddingInput {
  if (input === undefined || input === null) {
    faults.add('input', 'is required')
    return ''
  }
  if (typeof input === 'string') {
    if (input === '') faults.add('input', 'must not be empty')
    return input
  }
  if (!Array.isArray(input)) {
    faults.add('input', INPUT_RULE)
    return ''
  }
  if (input.length === 0) {
    faults.add('input', 'must not be empty')
    return ''
  }
  const [first] = input
  if (typeof first === 'number') {
    checkTokens(input, 'input', faults)
    return input
  }
  if (input.length > MAX_INPUTS) {
    faults.add('input', `must have at most ${MAX_INPUTS.toLocaleString('en')} inputs`)
    return ''
  }
  const isOfTokens = Array.isArray(first)
  for (const [position, item] of input.entries()) {
    if (faults.full) break
    const place = `input.${position}`
    if (isOfTokens && Array.isArray(item)) checkTokens(item, place, faults)
    else if (isOfTokens || typeof item !== 'string') {
      faults.add(
        place,
        isOfTokens ? 'must be a list of tokens' : typeof first === 'string' ? 'must be a string' : INPUT_RULE,
      )
    } else if (item === '') faults.add(place, 'must not be empty')
  }
  return input
}

function checkTokens(tokens: readonly unknown[], place: string, faults: RequestReading['faults']): void {
  if (tokens.length === 0) faults.add(place, 'must not be empty')
  const wrong = tokens.findIndex((token) => !Number.isSafeInteger(token) || (token as number) < 0)
  if (wrong >= 0) faults.add(`${place}.${wrong}`, 'must be a token, which is a non-negative integer')
}

function readFields(
  body: JsonObject,
  { faults }: RequestReading,
): Partial<Record<keyof typeof FIELDS, unknown>> {
  const read: Partial<Record<keyof typeof FIELDS, unknown>> = {}
  for (const [name, [schema, rule]] of Object.entries(FIELDS)) {
    const value = body[name] ?? undefined
    if (value === undefined) continue
    if (schema.safeParse(value).success) read[name as keyof typeof FIELDS] = value
    else faults.add(name, rule)
  }
  return read
}
