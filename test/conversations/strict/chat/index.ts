import { openAiBody, wordsOf } from '../openai-words.js'
import type { StrictRefusal, StrictRequest, StrictRow } from '../refusal.js'
import type { Objection, Rule } from '../rule.js'
import { first, isObject, type Misfit, misfitFinder } from '../shape.js'
import { OPENAI } from '../shapes/index.js'
import { DEEPSEEK_RULES } from './deepseek.js'
import { GOOGLE_RULES } from './google.js'
import { GROQ_RULES } from './groq.js'
import { MISTRAL_RULES } from './mistral.js'
import { OPENAI_RULES } from './openai.js'

const misfitOf = misfitFinder(OPENAI)

/** What a vendor says against its own members and roles comes first. */
export const CHAT_RULES: readonly Rule[] = [
  ...MISTRAL_RULES,
  ...GROQ_RULES,
  ...DEEPSEEK_RULES,
  ...GOOGLE_RULES,
  ...OPENAI_RULES,
]

/** What chat APIs refuse: OpenAI's, and those that follow it. */
export function refusalOfChat(row: StrictRow, { body }: StrictRequest): StrictRefusal | undefined {
  if (isObject(body)) {
    const refusal = first(CHAT_RULES, (rule) => {
      const objection = rule.rows.includes(row) ? rule.objection(body, row) : undefined
      return objection && refused(row, rule.id, objection)
    })
    if (refusal !== undefined) return refusal
  }
  const misfit = misfitOf('chat', body)
  return misfit === undefined || !counts(row, misfit) ? undefined : refused(row, 'shape', wordsOf(misfit))
}

/**
 * Whether a vendor minds. OpenAI is known to refuse unknown settings, but not unknown members of messages; the
 * others have values and parts of their own.
 */
function counts(row: StrictRow, { kind, path }: Misfit): boolean {
  if (row === 'openai') return kind !== 'unknown' || path.length === 1
  const content = path.indexOf('content')
  return (kind === 'missing' || kind === 'type') && (content < 0 || content === path.length - 1)
}

const BODIES: Readonly<Partial<Record<StrictRow, (objection: Objection) => object>>> = {
  'gemini-chat': ({ message, status = 400 }) => [
    { error: { code: status, message, status: 'INVALID_ARGUMENT' } },
  ],
  deepseek: ({ message }) => openAiBody({ message, code: 'invalid_request_error' }),
  groq: ({ message }) => ({ error: { message, type: 'invalid_request_error' } }),
  mistral: ({ message, detail, type = 'invalid_request_error', code, status = 400 }) => ({
    object: 'error',
    message: detail === undefined ? message : { detail },
    type,
    param: null,
    code: code ?? null,
    raw_status_code: status,
  }),
}

const refused = (row: StrictRow, rule: string, objection: Objection): StrictRefusal => ({
  status: objection.status ?? 400,
  body: (BODIES[row] ?? openAiBody)(objection),
  rule,
})
