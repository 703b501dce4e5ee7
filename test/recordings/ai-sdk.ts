import { counts, type JsonObject, type RecordedBody, type RecordedStream, reply } from './recording.js'

const sdkUsage3 = (input: number, cached: number, output: number, reasoning: number): JsonObject => ({
  inputTokens: { total: input, noCache: input - cached, cacheRead: cached },
  outputTokens: { total: output, text: output - reasoning, reasoning },
  raw: { prompt_tokens: input, completion_tokens: output },
})

function sdkText(): JsonObject[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'r-1', modelId: 'm' },
    { type: 'text-start', id: '0' },
    ...['Ça', ' va', ' bien'].map((delta): JsonObject => ({ type: 'text-delta', id: '0', delta })),
    { type: 'text-end', id: '0' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: sdkUsage3(31, 8, 9, 0) },
  ]
}

function sdkTools(): JsonObject[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'reasoning-start', id: 'r0' },
    { type: 'reasoning-delta', id: 'r0', delta: 'Hm' },
    { type: 'reasoning-delta', id: 'r0', delta: '…' },
    { type: 'reasoning-end', id: 'r0' },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'Wait. ' },
    { type: 'text-end', id: '0' },
    { type: 'tool-input-start', id: 'c1', toolName: 'weather' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"in":' },
    { type: 'tool-input-delta', id: 'c1', delta: '"Oslo"}' },
    { type: 'tool-input-end', id: 'c1' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"in":"Oslo"}' },
    { type: 'tool-call', toolCallId: 'c2', toolName: 'now', input: '{"tz":1}' },
    {
      type: 'finish',
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage: sdkUsage3(50, 0, 25, 6),
    },
  ]
}

function sdkOld(): JsonObject[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '0' },
    ...['Ja', ', gern'].map((delta): JsonObject => ({ type: 'text-delta', id: '0', delta })),
    { type: 'text-end', id: '0' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'now', input: '{}' },
    {
      type: 'finish',
      finishReason: 'tool-calls',
      usage: { inputTokens: 14, outputTokens: 6, totalTokens: 20, reasoningTokens: 0, cachedInputTokens: 4 },
    },
  ]
}

type Spoken = 'aisdk-v2' | 'aisdk-v3'

/** Streams of models of the AI SDK, as their parts. */
export const sdkStreams: readonly RecordedStream<Spoken>[] = [
  {
    name: 'the AI SDK',
    language: 'aisdk-v3',
    events: sdkText(),
    reply: reply({ text: 'Ça va bien' }),
    counts: counts(31, 9, { cached: 8 }),
  },
  {
    name: 'the AI SDK with two calls',
    language: 'aisdk-v3',
    events: sdkTools(),
    reply: reply({
      text: 'Wait. ',
      reasoning: 'Hm…',
      toolCalls: [
        { id: 'c1', name: 'weather', arguments: '{"in":"Oslo"}' },
        { id: 'c2', name: 'now', arguments: '{"tz":1}' },
      ],
      finishReason: 'tool_calls',
    }),
    counts: counts(50, 25, { reasoning: 6 }),
  },
  {
    name: 'the AI SDK, version 2 of models',
    language: 'aisdk-v2',
    events: sdkOld(),
    reply: reply({
      text: 'Ja, gern',
      toolCalls: [{ id: 'c1', name: 'now', arguments: '{}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(14, 6, { cached: 4 }),
  },
]

/** Results of models of the AI SDK. */
export const sdkResults: readonly RecordedBody<Spoken>[] = [
  {
    name: 'the AI SDK in one result',
    language: 'aisdk-v3',
    body: {
      content: [
        { type: 'reasoning', text: 'Hm' },
        { type: 'text', text: 'Wait.' },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"in":"Oslo"}' },
      ],
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage: sdkUsage3(50, 10, 25, 6),
      warnings: [],
      response: { id: 'r-2' },
    },
    reply: reply({
      text: 'Wait.',
      reasoning: 'Hm',
      toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"in":"Oslo"}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(50, 25, { cached: 10, reasoning: 6 }),
  },
]
