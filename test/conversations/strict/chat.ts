import type { StrictRefusal, StrictRequest, StrictRow } from './index.js'
import { openAiBody, wordsOf } from './openai-words.js'
import type { Objection, Rule } from './rule.js'
import { first, isObject, misfitOf } from './shape.js'
import { OPENAI } from './shapes/index.js'

export const CHAT_RULES: readonly Rule[] = []

/** What chat APIs refuse: OpenAI's, and those that follow it. */
export function refusalOfChat(row: StrictRow, { body }: StrictRequest): StrictRefusal | undefined {
  const misfit = misfitOf(OPENAI, 'chat', body)
  if (misfit !== undefined && (misfit.kind !== 'unknown' || misfit.path.length === 1)) {
    return refused('shape', wordsOf(misfit))
  }
  if (!isObject(body)) return undefined
  return first(CHAT_RULES, (rule) => {
    const objection = rule.rows.includes(row) ? rule.objection(body, row) : undefined
    return objection && refused(rule.id, objection)
  })
}

const refused = (rule: string, objection: Objection): StrictRefusal => ({
  status: objection.status ?? 400,
  body: openAiBody(objection),
  rule,
})
