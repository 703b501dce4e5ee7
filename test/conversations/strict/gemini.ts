import type { StrictRefusal, StrictRequest } from './index.js'
import { pathOf } from './openai-words.js'
import type { Objection, Rule } from './rule.js'
import { first, isObject, type Misfit, misfitOf } from './shape.js'
import { GEMINI } from './shapes/gemini.js'

/** A rule of the native API, which names the model in its path. */
export interface GeminiRule extends Omit<Rule, 'objection' | 'rows'> {
  readonly objection: (body: Readonly<Record<string, unknown>>, model: string) => Objection | undefined
}

export const GEMINI_RULES: readonly GeminiRule[] = []

export const modelOf = (path: string): string => /\/models\/([^/:?]+):/.exec(path)?.[1] ?? ''

export function refusalOfGemini({ path, body }: StrictRequest): StrictRefusal | undefined {
  const misfit = misfitOf(GEMINI, 'generate', body)
  if (misfit !== undefined) return refused('shape', wordsOf(misfit))
  if (!isObject(body)) return undefined
  return first(GEMINI_RULES, (rule) => {
    const objection = rule.objection(body, modelOf(path))
    return objection && refused(rule.id, objection)
  })
}

function wordsOf(misfit: Misfit): Objection {
  const place = pathOf(misfit.path)
  if (misfit.kind === 'unknown' || misfit.kind === 'missing') {
    const name = misfit.path.at(-1)
    const parent = pathOf(misfit.path.slice(0, -1))
    const where = parent === '' ? '' : ` at '${parent}'`
    return { message: `Invalid JSON payload received. Unknown name "${name}"${where}: Cannot find field.` }
  }
  return {
    message: `Invalid value at '${place}' (${misfit.wanted.join(', ')}), ${JSON.stringify(misfit.value)}`,
  }
}

export const googleError = ({ message, status = 400 }: Objection) => ({
  error: { code: status, message, status: 'INVALID_ARGUMENT' },
})

const refused = (rule: string, objection: Objection): StrictRefusal => ({
  status: objection.status ?? 400,
  body: googleError(objection),
  rule,
})
