import { frame, type OddReply, testOddReplies, text } from './mends.js'

/** A reply with this usage, wherever it is. */
const counted = (usage: unknown, cost: number, more: Partial<OddReply> = {}): OddReply =>
  placed({ choices: [], usage }, { usage }, cost, more)

/** The last event of a stream, and further members of a body. */
const placed = (event: object, members: object, cost: number, more: Partial<OddReply> = {}): OddReply => ({
  stream: `${text('Hello')}${frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}${frame(event)}data: [DONE]\n\n`,
  body: {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    ...members,
  },
  read: { text: 'Hello', finishReason: 'stop' },
  cost,
  ...more,
})

/** 11 x 10 + 7 x 20 millionths, and 0.001. */
const PLAIN = 0.00125
const COUNTS = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const choice = (more: object): object => ({
  choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop', ...more }],
})

testOddReplies('usage is read', {
  // (20 x 10 + 10,000 x 1 + 7 x 20) millionths, and 0.001.
  'with cached tokens at its top level': counted(
    { prompt_tokens: 10_020, completion_tokens: 7, total_tokens: 10_027, cache_read_input_tokens: 10_000 },
    0.01134,
  ),
  // (20 x 10 + 10,000 x 12.5 + 7 x 20) millionths, and 0.001.
  'with tokens written to the cache at its top level': counted(
    {
      prompt_tokens: 10_020,
      completion_tokens: 7,
      total_tokens: 10_027,
      cache_creation_input_tokens: 10_000,
    },
    0.12634,
  ),
  // (20 x 10 + 6,000 x 1 + 4,000 x 12.5 + 7 x 20) millionths, and 0.001.
  'with both, beside empty details': counted(
    {
      prompt_tokens: 10_020,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 0 },
      cache_read_input_tokens: 6_000,
      cache_creation_input_tokens: 4_000,
    },
    0.05734,
  ),
  'with cached tokens beside the prompt': counted(
    { prompt_tokens: 20, completion_tokens: 7, total_tokens: 10_027, cache_read_input_tokens: 10_000 },
    0.01134,
  ),
  'with more cached tokens than the prompt, of which the total shows that it includes them': counted(
    { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101, cached_tokens: 500 },
    0.00112,
    { implausible: ['cached'] },
  ),
  'with more cached tokens than the prompt, and another total': counted(
    { prompt_tokens: 100, completion_tokens: 1, total_tokens: 900, cached_tokens: 500 },
    0.00112,
    { implausible: ['cached'] },
  ),
  'with more cached tokens than the prompt, and no total': counted(
    { prompt_tokens: 100, completion_tokens: 1, cached_tokens: 500 },
    0.00112,
    { implausible: ['cached'] },
  ),
  // (100 x 10 + 500 x 1 + 1 x 20) millionths, and 0.001.
  'with more cached tokens than the prompt, of which the total shows that it excludes them': counted(
    { prompt_tokens: 100, completion_tokens: 1, total_tokens: 601, cached_tokens: 500 },
    0.00252,
    { implausible: [] },
  ),
  // (60 x 1 + 40 x 12.5 + 1 x 20) millionths, and 0.001.
  'with more tokens written to the cache than were not read from it': counted(
    {
      prompt_tokens: 100,
      completion_tokens: 1,
      total_tokens: 101,
      cached_tokens: 60,
      cache_write_tokens: 50,
    },
    0.00158,
    { implausible: ['cacheWrite'] },
  ),
  'with cached tokens under the name of Mistral': counted(
    { prompt_tokens: 10_020, completion_tokens: 7, total_tokens: 10_027, num_cached_tokens: 10_000 },
    0.01134,
  ),
  'in camel case': counted({ promptTokens: 11, completionTokens: 7, totalTokens: 18 }, PLAIN),
  'in camel case, with cached tokens': counted(
    { inputTokens: 20, outputTokens: 7, cacheReadInputTokens: 10_000 },
    0.01134,
  ),
  'by the names of input and output': counted({ input_tokens: 11, output_tokens: 7 }, PLAIN),
  'by the names of Gemini': counted(
    { promptTokenCount: 11, candidatesTokenCount: 3, thoughtsTokenCount: 4, totalTokenCount: 18 },
    PLAIN,
  ),
  'with details in the singular': counted(
    { input_tokens: 10_020, output_tokens: 7, input_token_details: { cache_read: 10_000 } },
    0.01134,
  ),
  'in a list of snapshots': counted([{ ...COUNTS, completion_tokens: 1 }, COUNTS], PLAIN),
  'in an object of tokens': counted(
    { billed_units: { input_tokens: 1 }, tokens: { input_tokens: 11, output_tokens: 7 } },
    PLAIN,
  ),
  'without a prompt, by its total': counted({ completion_tokens: 7, total_tokens: 18 }, PLAIN),
  'with a prompt of null, by its total': counted({ ...COUNTS, prompt_tokens: null }, PLAIN),
  'with a prompt of 0, by its total': counted({ ...COUNTS, prompt_tokens: 0 }, PLAIN),
  'without an output, by its total': counted({ prompt_tokens: 11, total_tokens: 18 }, PLAIN),
  'with an output of 0, by its total': counted({ ...COUNTS, completion_tokens: 0 }, PLAIN),
  'in a choice': placed(
    choice({ delta: {}, message: undefined, usage: COUNTS }),
    choice({ usage: COUNTS }),
    PLAIN,
  ),
  'in a message': placed(
    choice({ delta: { usage: COUNTS }, message: undefined }),
    choice({ message: { content: 'Hello', usage: COUNTS } }),
    PLAIN,
  ),
  'beside choices that cannot be read, after the finish': placed(
    { choices: 'none', usage: COUNTS },
    { usage: COUNTS },
    PLAIN,
  ),
  'with cached tokens in a list, which is no count': counted(
    { ...COUNTS, prompt_tokens_details: { cached_tokens: [10] } },
    PLAIN,
  ),
  'in Groq’s own member': placed(
    { choices: [], x_groq: { usage: COUNTS } },
    { x_groq: { usage: COUNTS } },
    PLAIN,
  ),
})
