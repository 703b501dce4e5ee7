import { describe, expect, test } from 'vitest'
import { PATHS } from '../../callers/apis.js'
import { honestBodies } from '../../callers/honest-bodies.js'
import { refusalOf } from './index.js'

/** Requests that the router takes from honest clients, but that OpenAI itself would refuse. */
const REFUSED_BY_OPENAI: Readonly<Record<string, readonly string[]>> = {
  // OpenRouter's `usage`
  opencode: ['shape'],
  // a schema without the word "JSON" in the prompt
  instructor: ['word-json'],
  // strict mode with a property that is not required
  openai: ['strict-format', 'word-json', 'strict-parameters', 'strict-format'],
}

const bodies = await honestBodies()

describe('requests of real client libraries', () => {
  const asked = bodies.flatMap(({ api = 'chat', body, from }) => {
    if (api === 'embeddings') return []
    const row = api === 'messages' || api === 'count' ? ('anthropic' as const) : ('openai' as const)
    const refusal = refusalOf(row, { path: PATHS[api], headers: { 'anthropic-version': '2023-06-01' }, body })
    return [{ from, row, rule: refusal?.rule }]
  })

  test('are there for both vendors', () => {
    expect(new Set(asked.map(({ row }) => row))).toEqual(new Set(['openai', 'anthropic']))
  })

  test('are refused only if the vendor itself would refuse them', () => {
    const refused: Record<string, string[]> = {}
    for (const { from, rule } of asked) {
      if (rule !== undefined) refused[from] = [...(refused[from] ?? []), rule]
    }
    expect(refused).toEqual(REFUSED_BY_OPENAI)
  })
})
