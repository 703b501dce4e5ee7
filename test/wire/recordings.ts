import { expect } from 'vitest'
import type { ChatAdapter } from '../../src/adapters.js'
import { anthropic, openaiCompatible } from '../../src/index.js'
import type { ReadChoice } from './client-schemas.js'

/**
 * A stream as a provider's server sends it, invented in the provider's style, and the reply that a client
 * must read.
 */
export interface Recording {
  readonly provider: string
  readonly adapter: (baseUrl: string) => ChatAdapter
  readonly kind: 'openai' | 'gemini' | 'anthropic'
  readonly stream: string
  readonly choice: ReadChoice
  readonly counts: {
    readonly prompt: number
    readonly cached: number
    readonly completion: number
    readonly reasoning: number
  }
}

const compatible = (baseUrl: string) => openaiCompatible({ baseUrl })
const gemini = (baseUrl: string) => openaiCompatible({ baseUrl, unlistedTokens: 'output' })
const DONE = 'data: [DONE]\n\n'
const DONE_CRLF = 'data: [DONE]\r\n\r\n'

const frames = (events: readonly object[], newline = '\n') =>
  events.map((event) => `data: ${JSON.stringify(event)}${newline}${newline}`).join('')

const envelope = (id: string, model: string) => ({
  id,
  object: 'chat.completion.chunk',
  created: 1_764_000_000,
  model,
})
const choice = (delta: object, finish: string | null = null, more: object = {}) => [
  { index: 0, delta, ...more, finish_reason: finish },
]

function openai(): string {
  const head = {
    ...envelope('chatcmpl-D8', 'gpt-4.1-nano'),
    service_tier: 'default',
    system_fingerprint: 'fp_de',
  }
  const tail = (pad: string) => ({ usage: null, obfuscation: pad })
  const nothing = { logprobs: null }
  return (
    frames([
      {
        ...head,
        choices: choice({ role: 'assistant', content: '', refusal: null }, null, nothing),
        ...tail('Qup1BsQ3'),
      },
      ...['**', 'Grüße', ' aus', ' "Köln" \\o/', ' \u{1f389}\n'].map((content, at) => ({
        ...head,
        choices: choice({ content }, null, nothing),
        ...tail('xyzAB12'.slice(at)),
      })),
      { ...head, choices: choice({}, 'stop', nothing), ...tail('zap0') },
      {
        ...head,
        choices: [],
        usage: {
          prompt_tokens: 16,
          completion_tokens: 30,
          total_tokens: 46,
          prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0 },
        },
        obfuscation: 'h9RiQLL',
      },
    ]) + DONE
  )
}

function deepseek(): string {
  const head = { ...envelope('cca85624', 'deepseek-reasoner'), system_fingerprint: 'fp_ea_kvcache' }
  const piece = (delta: object, finish: string | null = null, usage: object | null = null) => ({
    ...head,
    choices: choice(delta, finish, { logprobs: null }),
    usage,
  })
  const call = (details: object) => piece({ tool_calls: [{ index: 0, ...details }] })
  return (
    frames([
      piece({ role: 'assistant', content: null, reasoning_content: '' }),
      piece({ content: null, reasoning_content: 'Der' }),
      piece({ content: null, reasoning_content: ' Wetterbericht…' }),
      piece({ content: 'Moment', reasoning_content: null }),
      call({ id: 'call_00_x', type: 'function', function: { name: 'weather', arguments: '' } }),
      ...['{', '"', 'location', '"', ':"', 'Köln', '"', '}'].map((args) =>
        call({ function: { arguments: args } }),
      ),
      piece({ content: '', reasoning_content: null }, 'tool_calls', {
        prompt_tokens: 339,
        completion_tokens: 83,
        total_tokens: 422,
        prompt_tokens_details: { cached_tokens: 320 },
        completion_tokens_details: { reasoning_tokens: 39 },
        prompt_cache_hit_tokens: 320,
        prompt_cache_miss_tokens: 19,
      }),
    ]) + DONE
  )
}

function groq(): string {
  const head = { ...envelope('chatcmpl-b6', 'llama-3.3-70b'), system_fingerprint: 'fp_f8' }
  const usage = {
    queue_time: 0.04,
    prompt_tokens: 210,
    prompt_time: 0.01,
    completion_tokens: 15,
    total_tokens: 225,
  }
  const nothing = { logprobs: null }
  return (
    frames([
      {
        ...head,
        choices: choice({ role: 'assistant', content: null }, null, nothing),
        x_groq: { id: 'req_01', seed: 1 },
      },
      { ...head, choices: choice({ reasoning: 'Okay' }, null, nothing) },
      { ...head, choices: choice({ reasoning: ', 天気' }, null, nothing) },
      {
        ...head,
        choices: choice(
          {
            tool_calls: [
              {
                id: 'tk85',
                type: 'function',
                function: { name: 'weather', arguments: '{"in":"東京"}' },
                index: 0,
              },
              { id: 'tk86', type: 'function', function: { name: 'now', arguments: '{}' }, index: 1 },
            ],
          },
          null,
          nothing,
        ),
      },
      { ...head, choices: choice({}, 'tool_calls', nothing), x_groq: { id: 'req_01', usage }, usage },
    ]) + DONE
  )
}

function mistral(): string {
  const head = envelope('b3999b8c', 'mistral-small')
  const nothing = { logprobs: null }
  return (
    frames([
      { ...head, choices: choice({ role: 'assistant', content: '' }, null, nothing) },
      {
        ...head,
        choices: choice(
          { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] },
          null,
          nothing,
        ),
      },
      { ...head, choices: choice({ content: [{ type: 'text', text: 'Voilà' }] }, null, nothing) },
      { ...head, choices: choice({ content: ' !' }, null, nothing) },
      {
        ...head,
        choices: choice(
          {
            content: null,
            tool_calls: [{ id: 'gSIM', function: { name: 'weather', arguments: { at: 'Nîmes' } } }],
          },
          'tool_calls',
          nothing,
        ),
        usage: { prompt_tokens: 124, total_tokens: 146, completion_tokens: 22 },
      },
    ]) + DONE
  )
}

/** Counts reasoning next to the completion, repeats the role, and ends lines as Windows does. */
function xai(): string {
  const head = { ...envelope('9c1d', 'grok-4'), system_fingerprint: 'fp_x' }
  return (
    frames(
      [
        { ...head, choices: choice({ role: 'assistant', reasoning_content: 'Thinking… ' }) },
        { ...head, choices: choice({ role: 'assistant', reasoning_content: 'done.' }) },
        { ...head, choices: choice({ role: 'assistant', content: 'Four' }) },
        { ...head, choices: choice({ role: 'assistant', content: ' ✓' }) },
        { ...head, choices: choice({ role: 'assistant' }, 'stop') },
        {
          ...head,
          choices: [],
          usage: {
            prompt_tokens: 12,
            completion_tokens: 2,
            total_tokens: 331,
            prompt_tokens_details: { text_tokens: 12, cached_tokens: 3 },
            completion_tokens_details: { reasoning_tokens: 317 },
            num_sources_used: 0,
          },
        },
      ],
      '\r\n',
    ) + DONE_CRLF
  )
}

/** A usage that grows with every chunk, output that only the total counts, and `stop` after a tool call. */
function geminiStream(): string {
  const head = envelope('Zr', 'gemini-2.5-flash')
  const usage = (completion: number, total: number) => ({
    usage: { prompt_tokens: 9, completion_tokens: completion, total_tokens: total },
  })
  const call = {
    function: { name: 'weather', arguments: '{"in":"São Paulo"}' },
    id: '',
    type: 'function',
    index: 0,
  }
  return (
    frames([
      { ...head, choices: choice({ content: 'Olá', role: 'assistant' }), ...usage(1, 40) },
      { ...head, choices: choice({ content: ', você', role: 'assistant' }), ...usage(3, 42) },
      { ...head, choices: choice({ role: 'assistant', tool_calls: [call] }, 'stop'), ...usage(12, 60) },
    ]) + DONE
  )
}

function anthropicStream(): string {
  const events: readonly { readonly type: string; readonly [field: string]: unknown }[] = [
    {
      type: 'message_start',
      message: {
        ...{
          id: 'msg_01',
          type: 'message',
          role: 'assistant',
          model: 'claude',
          content: [],
          stop_reason: null,
        },
        usage: {
          input_tokens: 20,
          cache_creation_input_tokens: 2,
          cache_read_input_tokens: 30,
          output_tokens: 1,
        },
      },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Væl' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'EuY' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'ping' },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Góðan' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: ' daginn' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'toolu_01', name: 'list', input: {} },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 48 },
    },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

export const recordings: readonly Recording[] = [
  {
    provider: 'OpenAI',
    adapter: compatible,
    kind: 'openai',
    stream: openai(),
    choice: {
      text: '**Grüße aus "Köln" \\o/ \u{1f389}\n',
      reasoning: '',
      toolCalls: [],
      finishReason: 'stop',
    },
    counts: { prompt: 16, cached: 4, completion: 30, reasoning: 0 },
  },
  {
    provider: 'OpenRouter, with comments while it waits',
    adapter: compatible,
    kind: 'openai',
    stream: `: OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n${openai()}`,
    choice: {
      text: '**Grüße aus "Köln" \\o/ \u{1f389}\n',
      reasoning: '',
      toolCalls: [],
      finishReason: 'stop',
    },
    counts: { prompt: 16, cached: 4, completion: 30, reasoning: 0 },
  },
  {
    provider: 'DeepSeek',
    adapter: compatible,
    kind: 'openai',
    stream: deepseek(),
    choice: {
      text: 'Moment',
      reasoning: 'Der Wetterbericht…',
      toolCalls: [{ id: 'call_00_x', name: 'weather', arguments: '{"location":"Köln"}' }],
      finishReason: 'tool_calls',
    },
    counts: { prompt: 339, cached: 320, completion: 83, reasoning: 39 },
  },
  {
    provider: 'Groq',
    adapter: compatible,
    kind: 'openai',
    stream: groq(),
    choice: {
      text: '',
      reasoning: 'Okay, 天気',
      toolCalls: [
        { id: 'tk85', name: 'weather', arguments: '{"in":"東京"}' },
        { id: 'tk86', name: 'now', arguments: '{}' },
      ],
      finishReason: 'tool_calls',
    },
    counts: { prompt: 210, cached: 0, completion: 15, reasoning: 0 },
  },
  {
    provider: 'Mistral',
    adapter: compatible,
    kind: 'openai',
    stream: mistral(),
    choice: {
      text: 'Voilà !',
      reasoning: 'hm',
      toolCalls: [{ id: 'gSIM', name: 'weather', arguments: '{"at":"Nîmes"}' }],
      finishReason: 'tool_calls',
    },
    counts: { prompt: 124, cached: 0, completion: 22, reasoning: 0 },
  },
  {
    provider: 'xAI',
    adapter: compatible,
    kind: 'openai',
    stream: xai(),
    choice: { text: 'Four ✓', reasoning: 'Thinking… done.', toolCalls: [], finishReason: 'stop' },
    counts: { prompt: 12, cached: 3, completion: 319, reasoning: 317 },
  },
  {
    provider: 'Gemini',
    adapter: gemini,
    kind: 'gemini',
    stream: geminiStream(),
    choice: {
      text: 'Olá, você',
      reasoning: '',
      toolCalls: [{ id: expect.stringMatching(/^call_/), name: 'weather', arguments: '{"in":"São Paulo"}' }],
      finishReason: 'tool_calls',
    },
    counts: { prompt: 9, cached: 0, completion: 51, reasoning: 0 },
  },
  {
    provider: 'Anthropic',
    adapter: (baseUrl) => anthropic({ baseUrl }),
    kind: 'anthropic',
    stream: anthropicStream(),
    choice: {
      text: 'Góðan daginn',
      reasoning: 'Væl',
      toolCalls: [{ id: 'toolu_01', name: 'list', arguments: '{}' }],
      finishReason: 'tool_calls',
    },
    counts: { prompt: 52, cached: 30, completion: 48, reasoning: 0 },
  },
]
