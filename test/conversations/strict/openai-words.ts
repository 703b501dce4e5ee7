import type { Objection } from './rule.js'
import type { Misfit, Path } from './shape.js'

/** The words that OpenAI has for a misfit: `messages[0].content[1]`. */
export const pathOf = (path: Path): string =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  )

const ARTICLES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  null: 'null',
  list: 'an array',
  object: 'an object',
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return ARTICLES[typeof value] ?? 'nothing'
}

const listed = (words: readonly string[], last: string) =>
  words.length < 3 ? words.join(` ${last} `) : `${words.slice(0, -1).join(', ')}, ${last} ${words.at(-1)}`

export function wordsOf(misfit: Misfit): Objection {
  const param = pathOf(misfit.path)
  if (misfit.kind === 'unknown') {
    return { message: `Unknown parameter: '${param}'.`, param, code: 'unknown_parameter' }
  }
  if (misfit.kind === 'missing') {
    return { message: `Missing required parameter: '${param}'.`, param, code: 'missing_required_parameter' }
  }
  if (misfit.kind === 'value') {
    const values = misfit.wanted.map((value) => `'${value}'`)
    const message = `Invalid value: '${misfit.value}'. Supported values are: ${listed(values, 'and')}.`
    return { message, param, code: 'invalid_value' }
  }
  const wanted = misfit.wanted.filter((name) => name !== 'null').map((name) => ARTICLES[name] ?? name)
  const types = wanted.length > 1 ? `one of ${listed(wanted, 'or')}` : wanted[0]
  return {
    message: `Invalid type for '${param}': expected ${types}, but got ${typeOf(misfit.value)} instead.`,
    param,
    code: 'invalid_type',
  }
}

export const openAiBody = ({ message, param, code, type = 'invalid_request_error' }: Objection) => ({
  error: { message, type, param: param ?? null, code: code ?? null },
})
