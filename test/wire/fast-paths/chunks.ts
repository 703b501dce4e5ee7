import type { Random } from '../../simulation/random.js'

const USAGE = {
  prompt_tokens: 31,
  completion_tokens: 17,
  total_tokens: 48,
  prompt_tokens_details: { cached_tokens: 8 },
  completion_tokens_details: { reasoning_tokens: 5 },
}
const FINISHES = [
  ...['stop', 'length', 'tool_calls', 'content_filter', 'function_call'],
  ...['STOP', 'eos_token', 'max_tokens', 'safety', 'tool_use', 'error'],
]
const TEXTS = [
  ...['Hello', ' world', '.', '\n\n', 'a"b', '\\', '\\u0041', '\t', '</s>', ''],
  ...['é', 'Köln ', '日本語', '😀', '👩‍👩‍👧', '\u2028', '\u0001', '\ud83d', '\ufffd', '\ufeff'],
  ...['"usage":{}', '{"error":1}', '"delta":{"content":"', 'data: [DONE]\n\n', '"}}]}'],
]
const LONG_TEXT_CHARACTERS = 3_000

/** A text that a splicer may see: short or long, plain or easily mistaken for something else. */
export function someText(random: Random): string {
  const parts = Array.from({ length: random.int(1, 3) }, () => random.pick(TEXTS))
  return random.chance(0.5) ? `word${random.int(0, 999)} ` : parts.join('')
}

export function someUsage(random: Random): object {
  const prompt = random.int(0, 400)
  const completion = random.int(0, 400)
  return random.weighted<object>([
    [4, { ...USAGE, prompt_tokens: prompt, completion_tokens: completion }],
    [1, { prompt_tokens: prompt }],
    [1, { completion_tokens: completion }],
    [1, { prompt_tokens: prompt, completion_tokens: -completion, total_tokens: '7' }],
    [1, { prompt_tokens: prompt, completion_tokens: completion, cost: 9, is_byok: true }],
  ])
}

export function someFinish(random: Random): string {
  return random.chance(0.6) ? 'stop' : random.pick(FINISHES)
}

/** The chunks of one streamed reply, in the shapes used by all kinds of providers. */
export function someChunks(random: Random, choices: number): readonly object[] {
  const head = {
    id: 'upstream-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'upstream',
    ...(random.chance(0.3) && { system_fingerprint: random.pick(['fp_1', 'fp_ä']) }),
    ...(random.chance(0.2) && { service_tier: 'default' }),
  }
  const isPadded = random.chance(0.2)
  const choice = random.pick([{}, { logprobs: null }])
  const hasIndex = random.chance(0.9) || choices > 1
  const chunk = (list: readonly object[] | null, more: object = {}): object => ({
    ...head,
    choices: list,
    ...more,
    ...(isPadded && { obfuscation: 'aB3xYz9'.slice(0, random.int(0, 7)) }),
  })
  const delta = (fields: unknown, finish: string | null = null, index = random.int(0, choices - 1)): object =>
    chunk([{ ...(hasIndex && { index }), delta: fields, ...choice, finish_reason: finish }])
  const usage = (): object => chunk([], { usage: someUsage(random) })

  const oddChunk = (): object =>
    random.pick([
      () => delta({ role: 'assistant' }),
      () => delta({ content: null }),
      () => delta({}),
      () => delta({ refusal: someText(random), content: null }),
      () => delta({ reasoning: someText(random) }),
      () => delta({ reasoning_content: someText(random), content: null }),
      () => delta({ content: [{ type: 'text', text: someText(random) }] }),
      () => delta({ content: someText(random), annotations: [{ type: 'url_citation' }] }),
      () => delta({ content: someText(random), logprobs: { content: [] } }),
      () => chunk([]),
      () => chunk(null),
      () => chunk([], { prompt_filter_results: [] }),
      usage,
    ])()
  const toolCall = (index: number): object[] => {
    const place = random.chance(0.8) ? { index } : {}
    const id = random.chance(0.8) ? `call_${index}` : undefined
    const part = (fields: object): object => delta({ tool_calls: [{ ...place, ...fields }] }, null, 0)
    return [
      part({ id, type: 'function', function: { name: `tool_${index}`, arguments: '' } }),
      ...['{"city":', `"Köln ${index}"`, '}'].map((text) => part({ function: { arguments: text } })),
    ]
  }

  const isLong = random.chance(0.1)
  const body = Array.from({ length: isLong ? random.int(60, 160) : random.int(0, 30) }, () => {
    if (isLong) return [delta({ content: 'x'.repeat(random.int(1, LONG_TEXT_CHARACTERS)) })]
    return [random.chance(0.85) ? delta({ content: someText(random) }) : oddChunk()]
  }).flat()
  const calls = random.chance(0.2) ? [...toolCall(0), ...(random.chance(0.5) ? toolCall(1) : [])] : []
  const ends = random.chance(0.9)
    ? Array.from({ length: choices }, (_, index) => delta({}, someFinish(random), index))
    : []
  const report = random.weighted([
    [6, [usage()]],
    [1, [usage(), usage()]],
    [1, [{ ...head, choices: [], x_groq: { usage: someUsage(random) } }]],
    [2, []],
  ])
  const start = random.chance(0.6) ? [delta({ role: 'assistant', content: '' }, null, 0)] : []
  const late = random.chance(0.1) ? [oddChunk()] : []
  return [...start, ...body, ...calls, ...ends, ...late, ...report]
}
