import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { AIMessage, AIMessageChunk } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { OpenAIChatCompletionsModel, setTracingDisabled, withTrace } from '@openai/agents'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import OpenAI from 'openai'
import { API_KEY, MODEL } from './bench.js'
import { type Expected, PROMPT_TEXT } from './hearing.js'

/** A message as a client library assembles it. */
export interface Assembled {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[]
  readonly finish: string | undefined
}

export interface Connection {
  readonly baseURL: string
  /** The id of the request, as a header. */
  readonly headers: Record<string, string>
  readonly stream: boolean
}

/** A part of a message that a library reads in another way, and why. */
export interface Difference {
  readonly part: keyof Assembled
  readonly why: string
  /** Always by default. */
  readonly when?: (expected: Expected, stream: boolean) => boolean
  /** Returns the form in which the part is compared nevertheless. Without it, it is not compared. */
  readonly inForm?: (text: string) => string
}

export interface Library {
  readonly name: string
  readonly differences: readonly Difference[]
  /** Rejects if the library reports an error. */
  readonly assemble: (connection: Connection) => Promise<Assembled>
}

const QUESTION = { model: MODEL, messages: [{ role: 'user' as const, content: PROMPT_TEXT }] }

/** Arguments as JSON, or as their text if a model wrote no JSON. */
function read(args: unknown): unknown {
  if (typeof args !== 'string') return args
  try {
    return JSON.parse(args)
  } catch {
    return args
  }
}

interface OpenAiMessage {
  readonly content: string | null
  readonly refusal?: string | null
  readonly reasoning_content?: string | null
  readonly tool_calls?: readonly object[]
}

async function openai({ baseURL, headers, stream }: Connection): Promise<Assembled> {
  const client = new OpenAI({ baseURL, apiKey: API_KEY, maxRetries: 0, defaultHeaders: headers })
  // Its stream helper fails at a body that it was not sent as a stream, and at any error frame.
  const reply = stream
    ? await client.chat.completions.stream(QUESTION).finalChatCompletion()
    : await client.chat.completions.create(QUESTION)
  const [choice] = reply.choices
  const message = choice!.message as unknown as OpenAiMessage
  return {
    text: message.content ?? '',
    reasoning: message.reasoning_content ?? '',
    refusal: message.refusal ?? '',
    calls: (message.tool_calls ?? []).map((call) => {
      const { arguments: args, name } = (call as { function: { name: string; arguments: string } }).function
      return { name, arguments: read(args) }
    }),
    finish: choice!.finish_reason,
  }
}

async function langchain({ baseURL, headers, stream }: Connection): Promise<Assembled> {
  const client = new ChatOpenAI({
    model: MODEL,
    apiKey: API_KEY,
    maxRetries: 0,
    configuration: { baseURL, defaultHeaders: headers },
  })
  let message: AIMessage | AIMessageChunk | undefined
  if (stream) {
    for await (const chunk of await client.stream(PROMPT_TEXT)) {
      message = message === undefined ? chunk : (message as AIMessageChunk).concat(chunk)
    }
  } else message = await client.invoke(PROMPT_TEXT)
  const { additional_kwargs: more, content, invalid_tool_calls: odd = [], tool_calls: calls = [] } = message!
  const { finish_reason: finish } = message!.response_metadata as { finish_reason?: string }
  return {
    text: String(content),
    reasoning: String(more.reasoning_content ?? ''),
    refusal: '',
    calls: [
      ...calls.map(({ args, name }) => ({ name, arguments: args })),
      ...odd.map(({ args, name }) => ({ name: name ?? '', arguments: read(args ?? '') })),
    ],
    finish,
  }
}

/** The part of a model of the AI SDK that is used. */
interface AiModel {
  doStream(options: never): PromiseLike<{ stream: ReadableStream<object> }>
  doGenerate(options: never): PromiseLike<{ content: readonly object[]; finishReason: unknown }>
}

const aiSdk =
  (modelAt: (connection: Connection) => unknown) =>
  async (connection: Connection): Promise<Assembled> => {
    const model = modelAt(connection) as AiModel
    const options = { prompt: [{ role: 'user', content: [{ type: 'text', text: PROMPT_TEXT }] }] } as never
    const parts: Record<string, unknown>[] = []
    let end: unknown
    if (connection.stream) {
      for await (const part of (await model.doStream(options)).stream) parts.push({ ...part })
    } else {
      const { content, finishReason } = await model.doGenerate(options)
      parts.push(...content.map((part) => ({ ...part })))
      end = finishReason
    }
    const made = { text: '', reasoning: '', calls: [] as { name: string; arguments: unknown }[] }
    for (const part of parts) {
      if (part.type === 'text-delta') made.text += part.delta
      else if (part.type === 'text') made.text += part.text
      else if (part.type === 'reasoning-delta') made.reasoning += part.delta
      else if (part.type === 'reasoning') made.reasoning += part.text
      else if (part.type === 'tool-call') {
        made.calls.push({ name: String(part.toolName), arguments: read(part.input) })
      } else if (part.type === 'error') throw new Error(JSON.stringify(part))
      else if (part.type === 'finish') end = part.finishReason
    }
    const { unified } = end as { unified: string }
    return { ...made, refusal: '', finish: unified.replace('-', '_') }
  }

/** The output of a response in the format of the Responses API, into which the Agents SDK puts a chat completion. */
interface Output {
  readonly type: string
  readonly name?: string
  readonly arguments?: string
  readonly content?: readonly { readonly type: string; readonly text?: string; readonly refusal?: string }[]
  readonly rawContent?: readonly { readonly text?: string }[]
}

async function agents({ baseURL, headers, stream }: Connection): Promise<Assembled> {
  const client = new OpenAI({ baseURL, apiKey: API_KEY, maxRetries: 0, defaultHeaders: headers })
  const model = new OpenAIChatCompletionsModel(client as never, MODEL)
  const request = {
    input: PROMPT_TEXT,
    modelSettings: {},
    tools: [],
    outputType: 'text' as const,
    handoffs: [],
    tracing: false as const,
  }
  let output: readonly Output[] = []
  if (stream) {
    for await (const event of model.getStreamedResponse(request)) {
      if (event.type === 'response_done') output = event.response.output as readonly Output[]
    }
  } else {
    // Without a trace it fails, although it sends none.
    setTracingDisabled(true)
    const response = await withTrace('mutations', () => model.getResponse(request))
    output = response.output as readonly Output[]
  }
  const contents = output.flatMap(({ content, type }) => (type === 'message' ? (content ?? []) : []))
  const join = (texts: readonly (string | undefined)[]): string => texts.map((text) => text ?? '').join('')
  return {
    text: join(contents.filter(({ type }) => type === 'output_text').map(({ text }) => text)),
    refusal: join(contents.filter(({ type }) => type === 'refusal').map(({ refusal }) => refusal)),
    reasoning: join(
      output.flatMap(({ rawContent = [], type }) =>
        type === 'reasoning' ? rawContent.map(({ text }) => text) : [],
      ),
    ),
    calls: output.flatMap(({ arguments: args, name = '', type }) =>
      type === 'function_call' ? [{ name, arguments: read(args) }] : [],
    ),
    finish: undefined,
  }
}

const NO_REFUSAL: Difference = { part: 'refusal', why: 'it has no place for a refusal' }

export const LIBRARIES: readonly Library[] = [
  {
    name: 'openai',
    differences: [
      {
        part: 'reasoning',
        why: 'its stream helper keeps the last piece of fields that OpenAI does not have',
        when: (_expected, stream) => stream,
      },
    ],
    assemble: openai,
  },
  {
    name: 'LangChain',
    differences: [
      NO_REFUSAL,
      {
        part: 'calls',
        why: 'it completes arguments of a stream that are not JSON',
        when: ({ calls }, stream) =>
          stream && calls.some(({ arguments: args }) => typeof read(args) === 'string'),
      },
    ],
    assemble: langchain,
  },
  {
    name: 'AI SDK',
    differences: [NO_REFUSAL],
    assemble: aiSdk(({ baseURL, headers }) =>
      createOpenAICompatible({ name: 'x', baseURL, apiKey: API_KEY, headers })(MODEL),
    ),
  },
  {
    name: "OpenRouter's client",
    differences: [
      NO_REFUSAL,
      {
        part: 'reasoning',
        why: 'it drops reasoning that comes after text has begun',
        when: ({ isMixed }, stream) => stream && isMixed,
      },
      {
        part: 'reasoning',
        why: 'it reads details of the reasoning before the reasoning, and these may say more',
        when: ({ hasLooseDetails }) => hasLooseDetails,
      },
      {
        part: 'reasoning',
        why: 'it shows each thought of a whole message on its own, without the blank line between them',
        inForm: (text) => text.replaceAll('\n\n', ''),
      },
      {
        part: 'calls',
        why: 'it replaces arguments that are not JSON by an empty object',
        when: ({ calls }) => calls.some(({ arguments: args }) => typeof read(args) === 'string'),
      },
    ],
    assemble: aiSdk(({ baseURL, headers }) =>
      createOpenRouter({ baseURL, apiKey: API_KEY, headers }).chat(MODEL),
    ),
  },
  {
    name: 'Agents SDK',
    differences: [
      { part: 'finish', why: 'it passes on no finish reason' },
      { part: 'refusal', why: 'it drops the refusal of a body', when: (_expected, stream) => !stream },
      {
        part: 'refusal',
        why: 'it refuses in words of its own if a reply was filtered before it began',
        when: ({ finish, text }) => finish === 'content_filter' && text === '',
      },
    ],
    assemble: agents,
  },
]
