import type { StrictRefusal, StrictRequest } from './index.js'
import type { Objection, Rule } from './rule.js'
import { first, isObject, type Misfit, misfitOf } from './shape.js'
import { ANTHROPIC } from './shapes/index.js'

export const MESSAGES_RULES: readonly Rule[] = []

export function refusalOfMessages({ path, headers, body }: StrictRequest): StrictRefusal | undefined {
  if (headers['anthropic-version'] === undefined) {
    return refused('version', { message: 'anthropic-version: header is required' })
  }
  const counts = path.split('?')[0]?.endsWith('/count_tokens') === true
  const isBeta = headers['anthropic-beta'] !== undefined
  const root = isBeta ? (counts ? 'betaCount' : 'beta') : counts ? 'count' : 'messages'
  const misfit = misfitOf(ANTHROPIC, root, body)
  if (misfit !== undefined) return refused('shape', wordsOf(misfit))
  if (!isObject(body)) return undefined
  return first(MESSAGES_RULES, (rule) => {
    const objection = rule.objection(body, 'anthropic')
    return objection && refused(rule.id, objection)
  })
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  boolean: 'boolean',
  null: 'None',
  list: 'list',
  object: 'dictionary',
}

/** Pydantic's words, as the API passes them on. */
function wordsOf(misfit: Misfit): Objection {
  const place = misfit.tags.join('.')
  if (misfit.kind === 'unknown') return { message: `${place}: Extra inputs are not permitted` }
  if (misfit.kind === 'missing') return { message: `${place}: Field required` }
  if (misfit.kind === 'value') {
    const values = misfit.wanted.map((value) => `'${value}'`)
    if (misfit.path.at(-1) === 'type' && values.length > 1) {
      const union = misfit.tags.slice(0, -1).join('.')
      return {
        message: `${union}: Input tag '${misfit.value}' found using 'type' does not match any of the expected tags: ${values.join(', ')}`,
      }
    }
    const last = values.length > 1 ? `${values.slice(0, -1).join(', ')} or ${values.at(-1)}` : values[0]
    return { message: `${place}: Input should be ${last}` }
  }
  const wanted = misfit.wanted.find((name) => name !== 'null') ?? 'null'
  return { message: `${place}: Input should be a valid ${TYPES[wanted] ?? wanted}` }
}

const refused = (
  rule: string,
  { message, status = 400, type = 'invalid_request_error' }: Objection,
): StrictRefusal => ({
  status,
  body: { type: 'error', error: { type, message }, request_id: 'req_strict' },
  rule,
})
