import type { Api, Exception, Settings, Shape, Target } from './shape.js'

const SDK = ['sdk-chat', 'sdk-responses', 'sdk-messages'] as const satisfies readonly Target[]
const CLAUDE = ['messages', 'sdk-messages'] as const satisfies readonly Target[]

const refused = (
  api: Api | readonly Api[] | undefined,
  to: Target | readonly Target[],
  field: string,
): Exception => ({
  ...(api !== undefined && { api }),
  to,
  refused: field,
  why: `no provider there knows ${field}`,
})
const leftOut = (
  name: keyof Settings,
  api: Api | readonly Api[] | undefined,
  to: Target | readonly Target[] | undefined,
  why: string,
): Exception => ({
  ...(api !== undefined && { api }),
  ...(to !== undefined && { to }),
  without: [name],
  why,
})

const REPORTED = 'the package of the AI SDK leaves it out, which is reported with the reply'
const UNKNOWN = 'the provider does not know it, and it only labels the request'
const UNTRANSLATED = 'this adapter has no translation for it unless the host gives one'

/** What becomes of each setting where it cannot be said: demands are refused by name, wishes are left out. */
const LIMITS: Partial<Record<keyof Settings, readonly Exception[]>> = {
  cacheKey: [
    leftOut('cacheKey', undefined, ['messages', ...SDK], UNTRANSLATED),
    leftOut('cacheKey', undefined, ['groq', 'gemini-chat'], UNKNOWN),
  ],
  jsonObject: [
    refused(undefined, 'messages', 'response_format.type'),
    leftOut('jsonObject', undefined, 'sdk-messages', REPORTED),
  ],
  logprobs: [
    refused('chat', ['messages', ...SDK], 'logprobs'),
    refused('responses', ['messages', ...SDK], 'top_logprobs'),
  ],
  metadata: [
    leftOut('metadata', 'chat', ['messages', 'responses', ...SDK], 'it is only a label'),
    leftOut('metadata', 'responses', undefined, 'it is only repeated in the reply'),
  ],
  parallel: [
    refused('chat', SDK, 'parallel_tool_calls'),
    leftOut('parallel', ['responses', 'messages'], SDK, UNTRANSLATED),
  ],
  seed: [
    refused(undefined, ['messages', 'responses'], 'seed'),
    leftOut('seed', undefined, ['sdk-messages', 'sdk-responses'], REPORTED),
  ],
  stop: [refused(undefined, 'responses', 'stop'), leftOut('stop', undefined, 'sdk-responses', REPORTED)],
  thinking: [
    refused('chat', SDK, 'reasoning_effort'),
    leftOut('thinking', ['responses', 'messages'], SDK, UNTRANSLATED),
  ],
  user: [leftOut('user', undefined, SDK, UNTRANSLATED), leftOut('user', undefined, 'mistral', UNKNOWN)],
  verbosity: [
    refused('chat', [...CLAUDE, 'sdk-chat', 'sdk-responses'], 'verbosity'),
    leftOut('verbosity', 'responses', [...CLAUDE, 'sdk-chat', 'sdk-responses'], UNTRANSLATED),
  ],
}

/** Settings that say nothing if there are no tools. */
const OF_TOOLS: ReadonlySet<string> = new Set(['parallel', 'toolChoice'])

/** What becomes of the settings of a conversation, by the limits of the APIs alone. */
export function exceptionsOfSettings({ settings = {}, tools = [] }: Shape): readonly Exception[] {
  return Object.keys(settings)
    .filter((name) => tools.length > 0 || !OF_TOOLS.has(name))
    .flatMap((name) => LIMITS[name as keyof Settings] ?? [])
}
