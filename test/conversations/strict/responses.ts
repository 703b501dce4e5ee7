import type { StrictRefusal, StrictRequest, StrictRow } from './index.js'
import { openAiBody, wordsOf } from './openai-words.js'
import type { Objection, Rule } from './rule.js'
import { first, isObject, misfitOf } from './shape.js'
import { OPENAI } from './shapes/index.js'

export const RESPONSES_RULES: readonly Rule[] = []

export function refusalOfResponses(row: StrictRow, { body }: StrictRequest): StrictRefusal | undefined {
  const misfit = misfitOf(OPENAI, 'responses', body)
  if (misfit !== undefined) return refused('shape', wordsOf(misfit))
  if (!isObject(body)) return undefined
  return first(RESPONSES_RULES, (rule) => {
    const objection = rule.rows.includes(row) ? rule.objection(body, row) : undefined
    return objection && refused(rule.id, objection)
  })
}

const refused = (rule: string, objection: Objection): StrictRefusal => ({
  status: objection.status ?? 400,
  body: openAiBody(objection),
  rule,
})
