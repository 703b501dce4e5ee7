import { describe, expect, test } from 'vitest'
import { CHAT_RULES } from './chat/index.js'
import { GEMINI_RULES } from './gemini.js'
import { refusalOf, type StrictRow } from './index.js'
import { MESSAGES_RULES } from './messages.js'
import { RESPONSES_RULES } from './responses.js'
import type { Json } from './shape.js'

interface Example {
  readonly name: string
  readonly row: StrictRow
  readonly path: string
  readonly rule: string
  readonly source: string
  readonly refuses: Json
  readonly accepts: Json
  readonly betas?: string
}

const ofRows = (api: string, path: string, rules: typeof CHAT_RULES): readonly Example[] =>
  rules.flatMap(({ id, rows, ...rest }) =>
    rows.map((row) => ({ ...rest, name: `${api}, ${row}: ${id}`, row, path, rule: id })),
  )

const EXAMPLES: readonly Example[] = [
  ...ofRows('chat', '/v1/chat/completions', CHAT_RULES),
  ...ofRows('responses', '/v1/responses', RESPONSES_RULES),
  ...MESSAGES_RULES.map(({ id, ...rest }) => ({
    ...rest,
    name: `messages: ${id}`,
    row: 'anthropic' as const,
    path: '/v1/messages',
    rule: id,
  })),
  ...GEMINI_RULES.map(({ id, model = 'gemini-2.5-flash', ...rest }) => ({
    ...rest,
    name: `gemini: ${id}`,
    row: 'gemini' as const,
    path: `/v1beta/models/${model}:generateContent`,
    rule: id,
  })),
]

const HEADERS = { 'anthropic-version': '2023-06-01' }

describe('a rule of a vendor refuses its example, and not the nearest request that is right', () => {
  test.each(EXAMPLES)('$name', ({ row, path, rule, source, refuses, accepts, betas }) => {
    const headers = { ...HEADERS, ...(betas === undefined ? {} : { 'anthropic-beta': betas }) }
    expect(source).toMatch(/^https:\/\//)
    expect(refusalOf(row, { path, headers, body: refuses })).toMatchObject({ rule })
    expect(refusalOf(row, { path, headers, body: accepts })).toBeUndefined()
  })

  test('has a name of its own in its API', () => {
    for (const rules of [CHAT_RULES, RESPONSES_RULES, MESSAGES_RULES, GEMINI_RULES]) {
      const ids = rules.map(({ id }) => id)
      expect(ids).toEqual([...new Set(ids)])
    }
  })
})
