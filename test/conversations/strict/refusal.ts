import { refusalOfChat } from './chat/index.js'
import { refusalOfGemini } from './gemini.js'
import { refusalOfMessages } from './messages.js'
import { refusalOfResponses } from './responses.js'

export type StrictApi = 'chat' | 'responses' | 'messages' | 'gemini'

/** A vendor's API. OpenAI's serves chats and responses. */
export type StrictRow = 'openai' | 'anthropic' | 'gemini' | 'gemini-chat' | 'deepseek' | 'groq' | 'mistral'

export interface StrictRequest {
  /** Only its end counts: it names the API. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

export interface StrictRefusal {
  readonly status: number
  readonly body: object
  /** The id of the rule that refused it. `shape` if its members or their types are wrong. */
  readonly rule: string
}

/** The API that a path asks for, if it is one of a conversation. */
export function apiOf(path: string): StrictApi | undefined {
  const [route = ''] = path.split('?')
  if (route.endsWith('/chat/completions')) return 'chat'
  if (route.endsWith('/responses')) return 'responses'
  if (/\/messages(\/count_tokens)?$/.test(route)) return 'messages'
  return /:(generateContent|streamGenerateContent|countTokens)$/.test(route) ? 'gemini' : undefined
}

const APIS: Readonly<Record<StrictRow, readonly StrictApi[]>> = {
  openai: ['chat', 'responses'],
  anthropic: ['messages'],
  gemini: ['gemini'],
  'gemini-chat': ['chat'],
  deepseek: ['chat'],
  groq: ['chat', 'responses'],
  mistral: ['chat'],
}

/** What the vendor's API answers if it refuses a request, and undefined if it accepts it. */
export function refusalOf(row: StrictRow, request: StrictRequest): StrictRefusal | undefined {
  const api = apiOf(request.path)
  if (api === undefined || !APIS[row].includes(api)) {
    const message = `Invalid URL (POST ${request.path})`
    return {
      status: 404,
      body: { error: { message, type: 'invalid_request_error', param: null, code: null } },
      rule: 'path',
    }
  }
  if (api === 'chat') return refusalOfChat(row, request)
  if (api === 'responses') return refusalOfResponses(row, request)
  return api === 'messages' ? refusalOfMessages(request) : refusalOfGemini(request)
}
