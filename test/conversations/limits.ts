import { mediaIn } from './expected.js'
import type { Api, Exception, Part, Settings, Shape, Target, Turn } from './shape.js'

interface Limit extends Exception {
  /** The values that it is about. All by default. */
  readonly onlyIf?: (settings: Settings) => boolean
}

const SDK = ['sdk-chat', 'sdk-responses', 'sdk-messages', 'sdk-gemini'] as const satisfies readonly Target[]
/** Chats that refuse what they do not know. */
const STRICT = ['groq', 'mistral'] as const satisfies readonly Target[]
const CLAUDE = ['messages', 'sdk-messages'] as const satisfies readonly Target[]

/** The provider says itself that it does not know a field. */
const unknown = (api: Api, to: Target | readonly Target[], field: string): Exception => ({
  ...refused(api, to, field),
  there: true,
})
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
const LIMITS: Partial<Record<keyof Settings, readonly Limit[]>> = {
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
    unknown('chat', 'mistral', 'logprobs'),
    unknown('responses', 'mistral', 'top_logprobs'),
  ],
  metadata: [
    leftOut('metadata', 'chat', ['messages', 'responses', ...SDK], 'it is only a label'),
    leftOut('metadata', 'responses', undefined, 'it is only repeated in the reply'),
  ],
  parallel: [
    { ...refused('chat', SDK, 'parallel_tool_calls'), onlyIf: ({ parallel }) => parallel === false },
    leftOut('parallel', ['responses', 'messages'], SDK, UNTRANSLATED),
  ],
  schema: [{ to: 'sdk-gemini', either: ['schema'], why: 'the package of the AI SDK writes the schema anew' }],
  seed: [
    {
      ...leftOut(
        'seed',
        undefined,
        ['sdk-chat', 'sdk-gemini'],
        'a seed of the AI SDK is a number of JavaScript',
      ),
      onlyIf: ({ seed }) => !Number.isSafeInteger(Number(seed)),
    },
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
    refused('chat', [...CLAUDE, 'sdk-chat', 'sdk-responses', 'sdk-gemini'], 'verbosity'),
    leftOut('verbosity', 'responses', [...CLAUDE, 'sdk-chat', 'sdk-responses', 'sdk-gemini'], UNTRANSLATED),
    unknown('chat', STRICT, 'verbosity'),
    leftOut('verbosity', 'responses', STRICT, UNKNOWN),
  ],
}

/** Settings that say nothing if there are no tools. */
const OF_TOOLS: ReadonlySet<string> = new Set(['parallel', 'toolChoice'])

/** What becomes of the settings of a conversation, by the limits of the APIs alone. */
export function exceptionsOfSettings({ settings = {}, tools = [], turns }: Shape): readonly Exception[] {
  const thinks = settings.thinking !== undefined && settings.thinking !== 'off'
  return [
    ...Object.keys(settings)
      .filter((name) => tools.length > 0 || !OF_TOOLS.has(name))
      .flatMap((name) => LIMITS[name as keyof Settings] ?? [])
      .filter(({ onlyIf }) => onlyIf?.(settings) !== false),
    ...(thinks && turns.some(hasCalls) ? [THINKING_OF_OTHERS] : []),
    ...(thinks || settings.topP !== undefined ? [SAMPLING_OF_CLAUDE] : []),
    ...(thinks && isForced(settings) ? [FORCED_TOOL_OF_CLAUDE] : []),
  ]
}

/** Whether a turn has results or calls, which get a result if they have none. */
const hasCalls = (turn: Turn) =>
  'results' in turn ||
  'native' in turn ||
  ('assistant' in turn &&
    turn.assistant?.some((piece) => typeof piece === 'object' && 'call' in piece) === true)

const THINKING_OF_OTHERS: Exception = {
  to: CLAUDE,
  either: ['thinking'],
  why: 'Claude would refuse to think about calls and results without thoughts of its own',
}
const SAMPLING_OF_CLAUDE: Exception = {
  to: CLAUDE,
  either: ['temperature', 'topP', 'toolChoice'],
  why: 'Claude refuses some of them together, and with thinking',
}

const isForced = ({ toolChoice }: Settings) => toolChoice === 'any' || typeof toolChoice === 'object'
const FORCED_TOOL_OF_CLAUDE: Exception = {
  to: CLAUDE,
  either: ['thinking'],
  why: 'Claude cannot be made to call a tool while it thinks',
}

const isMedia = (part: Part) => typeof part !== 'string'
const RESULTS_OF_PACKAGE: Exception = {
  to: 'sdk-chat',
  skipped: true,
  why: 'the package of the AI SDK writes a result with media as the text of its JSON',
}

/** Chats that take no media get words in their place. */
export function exceptionsOfMedia(shape: Shape): readonly Exception[] {
  const media = mediaIn(shape)
  if (media.length === 0) return []
  const inResults = shape.turns.some(
    (turn) =>
      'results' in turn && turn.results.some(({ says }) => typeof says !== 'string' && says.some(isMedia)),
  )
  return [
    { to: 'deepseek', without: media, why: 'its models read only text, which is reported' },
    ...(inResults ? [RESULTS_OF_PACKAGE] : []),
  ]
}
