import { type ErrorCode, errorCodes } from '../base/errors.js'

export const REQUEST_ID = {
  'x-request-id': { description: 'Identifies this request to the operator.', schema: { type: 'string' } },
}
const RETRY_AFTER = {
  'retry-after': { description: 'Seconds.', schema: { type: 'integer', minimum: 1, maximum: 59 } },
}
/** The statuses with a `retry-after`. For 409, a client can wait for the call with the same key. */
const MAY_WAIT = new Set([409, 429, 503])
const CHALLENGE = { 'www-authenticate': { schema: { type: 'string' } } }

/** Returns one response for each status, which names its error codes. */
export function errorResponses(codes: readonly ErrorCode[]) {
  const byStatus = new Map<number, string[]>()
  for (const { code, status } of errorCodes) {
    if (codes.includes(code)) byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `\`${name}\``).join(', '),
        headers: {
          ...REQUEST_ID,
          ...(MAY_WAIT.has(status) && RETRY_AFTER),
          ...(status === 401 && CHALLENGE),
        },
        content: json('Error'),
      },
    ]),
  )
}

export function success(description: string, schema: string) {
  return { description, headers: REQUEST_ID, content: json(schema) }
}

export function header(name: string, description: string, schema: object) {
  return { name, in: 'header', required: false, description, schema }
}

export function json(schema: string) {
  return { 'application/json': { schema: reference(schema) } }
}

export function reference(schema: string) {
  return { $ref: `#/components/schemas/${schema}` }
}

const ROUTING_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['not_found', 'method_not_allowed'])

/** The error codes that a charged operation may end with. */
export const CALL_CODES: readonly ErrorCode[] = errorCodes
  .map(({ code }) => code)
  .filter((code) => !ROUTING_CODES.has(code))

/** The request headers of every charged operation. */
export const CALL_HEADERS = [
  header('Idempotency-Key', 'Repeats of a call with the same key and body are charged once.', {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    pattern: '^[\\x21-\\x7e]+$',
  }),
  header(
    'x-session-id',
    'Replaces `session_id` if a client cannot set the field. So do `x-session-affinity`, `session_id`, `session-id` and `x-claude-code-session-id`.',
    {
      type: 'string',
      minLength: 1,
      maxLength: 1_024,
      pattern: '^[\\x21-\\x7e]+$',
    },
  ),
]
