import { counts, type JsonObject, type RecordedStream, reply } from './recording.js'

/** A stream of OpenAI's reasoning models, invented in their style: thoughts, words on the way, calls of both kinds. */
function native(): JsonObject[] {
  const response = (status: string, more: JsonObject = {}) => ({
    id: 'resp_68a1',
    object: 'response',
    created_at: 1_764_000_000,
    status,
    model: 'gpt-5.1',
    output: [],
    usage: null,
    ...more,
  })
  const thought = { id: 'rs_68a2', type: 'reasoning', summary: [] }
  const words = { id: 'msg_68a3', type: 'message', role: 'assistant', phase: 'commentary', content: [] }
  const call = { id: 'fc_68a4', type: 'function_call', call_id: 'call_a', name: 'look_up', arguments: '' }
  const patch = { id: 'ctc_68a5', type: 'custom_tool_call', call_id: 'call_b', name: 'patch', input: '' }
  const pieces = ['{"city":', '"Köln"', '}']
  const patches = ['*** Begin\n', '+ "Grüße" \u{1f389}']
  const at = (index: number, id: string) => ({ item_id: id, output_index: index })
  const events: JsonObject[] = [
    { type: 'response.created', response: response('in_progress') },
    { type: 'response.in_progress', response: response('in_progress') },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...thought, encrypted_content: 'gAAAA0' },
    },
    ...['**Ort**', '**Wetter**'].flatMap((text, index) => [
      {
        type: 'response.reasoning_summary_part.added',
        ...at(0, thought.id),
        summary_index: index,
        part: { type: 'summary_text', text: '' },
      },
      {
        type: 'response.reasoning_summary_text.delta',
        ...at(0, thought.id),
        summary_index: index,
        delta: text,
      },
      { type: 'response.reasoning_summary_text.done', ...at(0, thought.id), summary_index: index, text },
    ]),
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { ...thought, encrypted_content: 'gAAAAABo' },
    },
    { type: 'response.output_item.added', output_index: 1, item: words },
    {
      type: 'response.content_part.added',
      ...at(1, words.id),
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    ...['Ich ', 'sehe nach …'].map((delta) => ({
      type: 'response.output_text.delta',
      ...at(1, words.id),
      content_index: 0,
      delta,
      logprobs: [],
      obfuscation: 'qW8',
    })),
    {
      type: 'response.output_text.annotation.added',
      ...at(1, words.id),
      content_index: 0,
      annotation_index: 0,
      annotation: {
        type: 'url_citation',
        url: 'https://example.com/',
        title: 'Ort',
        start_index: 0,
        end_index: 3,
      },
    },
    { type: 'response.output_item.done', output_index: 1, item: words },
    { type: 'keepalive' },
    { type: 'response.output_item.added', output_index: 2, item: call },
    ...pieces.map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...at(2, call.id),
      delta,
    })),
    { type: 'response.output_item.done', output_index: 2, item: { ...call, arguments: pieces.join('') } },
    { type: 'response.output_item.added', output_index: 3, item: patch },
    ...patches.map((delta) => ({ type: 'response.custom_tool_call_input.delta', ...at(3, patch.id), delta })),
    { type: 'response.output_item.done', output_index: 3, item: { ...patch, input: patches.join('') } },
    {
      type: 'response.completed',
      response: response('completed', {
        usage: {
          input_tokens: 40,
          input_tokens_details: { cached_tokens: 8 },
          output_tokens: 30,
          output_tokens_details: { reasoning_tokens: 12 },
          total_tokens: 70,
        },
      }),
    },
  ]
  return events.map((event, index) => ({ ...event, sequence_number: index }))
}

/** Streams of the Responses API. */
export const responseStreams: readonly RecordedStream<'responses'>[] = [
  {
    name: 'OpenAI, in the Responses API',
    language: 'responses',
    events: native(),
    reply: reply({
      text: 'Ich sehe nach …',
      reasoning: '**Ort**\n\n**Wetter**',
      toolCalls: [
        { id: 'call_a', name: 'look_up', arguments: '{"city":"Köln"}' },
        { id: 'call_b', name: 'patch', arguments: '*** Begin\n+ "Grüße" \u{1f389}' },
      ],
      finishReason: 'tool_calls',
    }),
    counts: counts(40, 30, { cached: 8, reasoning: 12 }),
  },
]
