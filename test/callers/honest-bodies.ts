import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { generateText, jsonSchema, type LanguageModel, type ModelMessage, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { type Api, PATHS } from './apis.js'
import type { JsonObject } from './json.js'

/**
 * A body as a client library sends it, or as recorded from a program. None of these callers may be refused.
 */
export interface HonestBody {
  readonly from: string
  /** Chat if absent. */
  readonly api?: Api
  readonly body: JsonObject
}

const MODEL = 'to-be-replaced'
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', maximum: 14 } },
  required: ['city'],
  additionalProperties: false,
} as const
const WEATHER = {
  type: 'function',
  function: { name: 'get_weather', description: 'The weather in a city.', parameters: SCHEMA },
} as const
const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Collects the requests that real client libraries would send. No request leaves the process. */
export async function honestBodies(): Promise<readonly HonestBody[]> {
  const bodies: HonestBody[] = [...RECORDED]
  const capture = (from: string) => async (url: unknown, init?: { body?: unknown }) => {
    bodies.push({ from, api: apiOf(String(url)), body: JSON.parse(String(init?.body)) as JsonObject })
    return Response.json({ error: { message: 'captured', code: 'captured' } }, { status: 400 })
  }
  await askOpenAi(capture('openai'))
  const sdk = { name: 'x', baseURL: 'http://x/v1', apiKey: 'x', includeUsage: true }
  await askAiSdk(createOpenAICompatible({ ...sdk, fetch: capture('AI SDK') as never })(MODEL))
  const fetch = capture("OpenRouter's provider of the AI SDK") as never
  await askAiSdk(createOpenRouter({ apiKey: 'x', fetch }).chat(MODEL))
  await askLangChain(capture('LangChain'))
  await askAnthropic(capture('Anthropic'))
  return bodies
}

function apiOf(url: string): Api {
  const path = new URL(url).pathname
  return (Object.keys(PATHS) as Api[]).find((api) => path.endsWith(PATHS[api])) ?? 'chat'
}

type Fetch = (url: unknown, init?: { body?: unknown }) => Promise<Response>

async function askOpenAi(fetch: Fetch): Promise<void> {
  const client = new OpenAI({ apiKey: 'x', baseURL: 'http://x/v1', maxRetries: 0, fetch: fetch as never })
  const user = { role: 'user', content: 'What is the weather in Oslo?' } as const
  const called: OpenAI.ChatCompletionMessageParam = {
    role: 'assistant',
    content: null,
    refusal: null,
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
    ],
  }
  const asked: OpenAI.ChatCompletionCreateParams[] = [
    { model: MODEL, messages: [user] },
    { model: MODEL, messages: [user], stream: true, stream_options: { include_usage: true } },
    { model: MODEL, messages: [user], max_completion_tokens: 200, temperature: 0.2, seed: 7, user: 'u1' },
    { model: MODEL, messages: [user], max_tokens: 200, n: 2, stop: ['\n\n'], top_p: 0.9 },
    { model: MODEL, messages: [user], tools: [WEATHER], tool_choice: 'auto', parallel_tool_calls: true },
    {
      model: MODEL,
      messages: [
        { role: 'developer', content: 'Be brief.' },
        user,
        called,
        { role: 'tool', tool_call_id: 'call_1', content: 'Rain, 4 degrees' },
      ],
      tools: [WEATHER],
      stream: true,
    },
    {
      model: MODEL,
      messages: [user],
      response_format: { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: SCHEMA } },
    },
    { model: MODEL, messages: [user], response_format: { type: 'json_object' }, frequency_penalty: 0 },
    {
      model: MODEL,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: PICTURE, detail: 'low' } },
          ],
        },
      ],
      reasoning_effort: 'low',
      store: false,
      metadata: { run: '1' },
    },
  ]
  for (const body of asked) await client.chat.completions.create(body).catch(() => {})
  const responses: OpenAI.Responses.ResponseCreateParams[] = [
    { model: MODEL, input: 'What is the weather in Oslo?', store: false },
    {
      model: MODEL,
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'What is the weather in Oslo?' }] },
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'Rain, 4 degrees' },
      ],
      tools: [
        {
          type: 'function',
          name: 'get_weather',
          description: 'The weather.',
          parameters: SCHEMA,
          strict: true,
        },
      ],
      stream: true,
      max_output_tokens: 300,
      store: false,
    },
    {
      model: MODEL,
      input: 'Oslo?',
      text: { format: { type: 'json_schema', name: 'place', strict: true, schema: SCHEMA } },
      reasoning: { effort: 'low' },
      include: ['reasoning.encrypted_content'],
    },
  ]
  for (const body of responses) await client.responses.create(body).catch(() => {})
  const many = Array.from({ length: 300 }, (_, index) => `The ferry number ${index} was late.`)
  await client.embeddings.create({ model: MODEL, input: 'The ferry was late.' }).catch(() => {})
  await client.embeddings.create({ model: MODEL, input: many, encoding_format: 'float' }).catch(() => {})
}

async function askAnthropic(fetch: Fetch): Promise<void> {
  const client = new Anthropic({ apiKey: 'x', baseURL: 'http://x', maxRetries: 0, fetch: fetch as never })
  const user = { role: 'user', content: 'What is the weather in Oslo?' } as const
  const tools = [
    {
      name: 'get_weather',
      description: 'The weather in a city.',
      input_schema: { ...SCHEMA, required: ['city'] },
    },
  ]
  const asked: Anthropic.MessageCreateParams[] = [
    { model: MODEL, max_tokens: 200, messages: [user] },
    { model: MODEL, max_tokens: 200, system: 'Be brief.', messages: [user], tools, stream: true },
    {
      model: MODEL,
      max_tokens: 300,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      tools,
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I will look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'Rain' }] },
            { type: 'text', text: 'And in Bergen?' },
          ],
        },
      ],
    },
  ]
  for (const body of asked) await client.messages.create(body).catch(() => {})
  await client.messages.countTokens({ model: MODEL, messages: [user], system: 'Be brief.' }).catch(() => {})
}

async function askAiSdk(model: LanguageModel): Promise<void> {
  const weather = tool({ description: 'The weather in a city.', inputSchema: jsonSchema(SCHEMA) })
  const messages: ModelMessage[] = [
    { role: 'user', content: [{ type: 'text', text: 'What is the weather in Oslo?' }] },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'They ask for the weather.' },
        { type: 'text', text: 'I will look.' },
        { type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: { city: 'Oslo' } },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'call_1',
          toolName: 'weather',
          output: { type: 'text', value: 'Rain' },
        },
      ],
    },
  ]
  const picture: ModelMessage[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image', image: PICTURE },
      ],
    },
  ]
  const common = { model, maxRetries: 0, system: 'Be brief.' } as const
  await generateText({ ...common, prompt: 'Hello' }).catch(() => {})
  await generateText({ ...common, messages, tools: { weather }, maxOutputTokens: 300 }).catch(() => {})
  await generateText({ ...common, messages: picture, temperature: 0 }).catch(() => {})
  const stream = streamText({ ...common, messages, tools: { weather }, onError: () => {} })
  await stream.consumeStream({ onError: () => {} })
}

async function askLangChain(fetch: Fetch): Promise<void> {
  const configuration = { baseURL: 'http://x/v1', fetch: fetch as never }
  const common = { model: MODEL, apiKey: 'x', maxRetries: 0, configuration }
  const plain = new ChatOpenAI(common)
  const bounded = new ChatOpenAI({ ...common, temperature: 0.3, maxTokens: 128, streaming: true })
  const history = [
    new SystemMessage('Be brief.'),
    new HumanMessage('What is the weather in Oslo?'),
    new AIMessage({
      content: '',
      tool_calls: [{ id: 'call_1', name: 'get_weather', args: { city: 'Oslo' } }],
    }),
    new ToolMessage({ tool_call_id: 'call_1', name: 'get_weather', content: 'Rain' }),
  ]
  await plain.invoke('Hello').catch(() => {})
  await bounded.invoke(history).catch(() => {})
  await plain
    .bindTools([WEATHER])
    .invoke(history)
    .catch(() => {})
  await plain
    .withStructuredOutput(SCHEMA as never)
    .invoke('Oslo')
    .catch(() => {})
}

const user = (content: string) => ({ role: 'user', content })

/** The recorded bodies of programs, reduced to their characteristic parts. */
const RECORDED: readonly HonestBody[] = [
  {
    from: 'pi',
    body: {
      model: MODEL,
      messages: [{ role: 'developer', content: 'You are a coding agent.' }, user('List the files.')],
      stream: true,
      stream_options: { include_usage: true },
      store: false,
      max_completion_tokens: 2_000,
      tools: [{ type: 'function', function: { ...WEATHER.function, strict: false } }],
      tool_choice: 'auto',
    },
  },
  {
    from: 'Copilot CLI',
    body: {
      model: MODEL,
      messages: [{ role: 'system', content: 'You are a coding agent.' }, user('List the files.')],
      stream: true,
      temperature: 0,
      top_p: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      n: 1,
      tools: [WEATHER],
      parallel_tool_calls: true,
    },
  },
  {
    from: 'opencode',
    body: {
      model: MODEL,
      messages: [{ role: 'system', content: 'You are a coding agent.' }, user('List the files.')],
      stream: true,
      stream_options: { include_usage: true },
      usage: { include: true },
      max_tokens: 3_000,
      prompt_cache_key: 'ses_1',
      tools: [WEATHER],
      tool_choice: 'auto',
    },
  },
  {
    from: 'an agent with cached parts',
    body: {
      model: MODEL,
      messages: [
        {
          role: 'system',
          content: [{ type: 'text', text: 'You are a coding agent.', cache_control: { type: 'ephemeral' } }],
        },
        user('List the files.'),
        {
          role: 'assistant',
          content: null,
          refusal: null,
          annotations: [],
          audio: null,
          function_call: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', name: 'get_weather', content: 'Rain' },
      ],
      max_tokens: 1_000,
      tools: [WEATHER],
    },
  },
  {
    from: "a client that sends the router's own reply back",
    body: {
      model: MODEL,
      messages: [
        user('Think.'),
        {
          role: 'assistant',
          content: 'Done.',
          reasoning: 'I thought.',
          reasoning_details: [
            { type: 'reasoning.text', text: 'I thought.', signature: 'c2lnbmVk', index: 0 },
          ],
        },
        user('Again.'),
      ],
      max_tokens: 500,
    },
  },
  {
    from: 'functions of old',
    body: { model: MODEL, messages: [user('Oslo?')], functions: [WEATHER.function], function_call: 'auto' },
  },
  {
    from: 'instructor',
    body: {
      model: MODEL,
      messages: [user('Oslo?')],
      response_format: { type: 'json_object', schema: SCHEMA },
    },
  },
]
