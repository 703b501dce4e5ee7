import { describe, expect, test } from 'vitest'
import { PATHS } from '../../callers/apis.js'
import { honestBodies } from '../../callers/honest-bodies.js'
import { refusalOf, type StrictRow, sign } from './index.js'

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

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { command: { type: 'string' } },
  required: ['command'],
  additionalProperties: false,
}
const CLAUDE_BETAS =
  'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,prompt-caching-scope-2026-01-05'

/** Requests in the style of programs, in the middle of a task. */
const PROGRAMS: readonly [
  program: string,
  row: StrictRow,
  path: string,
  betas: string | undefined,
  body: object,
][] = [
  [
    'Codex',
    'openai',
    '/responses',
    undefined,
    {
      model: 'gpt-5.1-codex',
      instructions: 'You are a coding agent.',
      store: false,
      stream: true,
      tool_choice: 'auto',
      parallel_tool_calls: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: '0199a213-81c0-7800-8aa1-bbab2a035a53',
      text: { verbosity: 'medium' },
      reasoning: { effort: 'medium', summary: 'auto' },
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Rules.' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix it.' }] },
        { type: 'reasoning', summary: [], content: null, encrypted_content: sign('openai', 'x') },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Looking.' }], phase: 'commentary' },
        { type: 'function_call', name: 'shell', arguments: '{"command":"ls"}', call_id: 'call_1' },
        {
          type: 'custom_tool_call',
          status: 'completed',
          call_id: 'call_2',
          name: 'apply_patch',
          input: '***',
        },
        { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
        { type: 'function_call_output', call_id: 'call_1', output: 'a.ts' },
        { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Done.' },
        { type: 'function_call', name: 'view_image', arguments: '{}', call_id: 'call_3' },
        {
          type: 'function_call_output',
          call_id: 'call_3',
          output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }],
        },
      ],
      tools: [
        { type: 'function', name: 'shell', description: 'Runs.', strict: false, parameters: SCHEMA },
        {
          type: 'custom',
          name: 'apply_patch',
          description: 'Patches.',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
        },
        { type: 'web_search', external_web_access: true },
        {
          type: 'namespace',
          name: 'mcp__files',
          description: 'Files.',
          tools: [
            { type: 'function', name: 'read', description: 'Reads.', strict: false, parameters: SCHEMA },
          ],
        },
      ],
    },
  ],
  [
    'Claude Code',
    'anthropic',
    '/messages?beta=true',
    CLAUDE_BETAS,
    {
      model: 'claude-sonnet-4-5',
      max_tokens: 32_000,
      stream: true,
      temperature: 1,
      metadata: { user_id: `user_${'0'.repeat(64)}_account__session_5f1c9d27` },
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.63' },
        {
          type: 'text',
          text: 'You are an agent.',
          cache_control: { type: 'ephemeral', ttl: '1h', scope: 'global' },
        },
      ],
      thinking: { type: 'enabled', budget_tokens: 31_999 },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      output_config: { effort: 'high' },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '<system-reminder>Today</system-reminder>' },
            { type: 'text', text: 'Fix it.', cache_control: { type: 'ephemeral' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: sign('anthropic', 'Hm.') },
            {
              type: 'tool_use',
              id: 'toolu_1',
              name: 'Bash',
              input: { command: 'ls' },
              caller: { type: 'direct' },
            },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'a.ts', is_error: false }],
        },
      ],
      tools: [
        { name: 'Bash', description: 'Runs.', input_schema: SCHEMA, eager_input_streaming: true },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 8 },
      ],
    },
  ],
]

test.each(PROGRAMS)('a request in the style of %s is accepted', (_, row, path, betas, body) => {
  const headers = {
    'anthropic-version': '2023-06-01',
    ...(betas === undefined ? {} : { 'anthropic-beta': betas }),
  }
  expect(refusalOf(row, { path, headers, body })).toBeUndefined()
})
