/** The scenarios, as data. */

export type Mode = 'stream' | 'JSON'

/** The name under which a provider reports that part of the prompt came from its cache. */
export type Spelling = 'openai' | 'responses' | 'deepseek' | 'moonshot' | 'anthropic' | 'gemini'

export interface ReplyPlan {
  /** When the provider reports its usage. `asked` is a provider that reports a stream only on request, as OpenAI does. */
  readonly usage: 'asked' | 'late' | 'each-chunk' | 'never'
  readonly spelling: Spelling
  /** Tokens of the prompt that came from the provider's cache. */
  readonly cached: number
  /** `dies` resets the connection in the middle; `truncated` ends the body there, without a finish. */
  readonly ending: 'whole' | 'dies' | 'truncated'
}

/** One call, and its reply. */
export interface CallScenario {
  readonly kind: 'call'
  readonly name: string
  readonly modes: readonly Mode[]
  readonly reply: ReplyPlan
  /** When the client disconnects. It stays if absent. */
  readonly leaves?: LeavingPoint
  /** Whether the client asks for the usage of a stream. */
  readonly asksForUsage: boolean
}

/** Early is after the first token, late is after the last one and before the finish. */
export type LeavingPoint = 'before the first token' | 'early' | 'late'

/** A client that lost the reply to a finished call, and sends the call again under the same key. */
export interface RetryScenario {
  readonly kind: 'retry'
  readonly name: string
  readonly modes: readonly Mode[]
  readonly reply: ReplyPlan
}

/** More calls at once than a limit covers. Every provider's reply waits until all of them are admitted or refused. */
export interface CrowdScenario {
  readonly kind: 'crowd'
  readonly name: string
  readonly limit: 'credit' | 'monthly cap'
  readonly calls: number
  /** The number of calls that the limit covers. */
  readonly fits: number
}

/** A key that is revoked while a client uses it. */
export interface RevocationScenario {
  readonly kind: 'revocation'
  readonly name: string
  /** How long to go on calling, if it is never refused. */
  readonly patienceMs: number
}

/** The gateway is killed with `kill -9` and started again. */
export interface KillScenario {
  readonly kind: 'kill'
  readonly name: string
  readonly answered: number
  readonly inFlight: number
}

export type Scenario = CallScenario | RetryScenario | CrowdScenario | RevocationScenario | KillScenario

export interface Sizes {
  readonly crowd: number
  readonly fits: number
  readonly answered: number
  readonly inFlight: number
  readonly revocationMs: number
}

export const FULL: Sizes = { crowd: 1_000, fits: 100, answered: 20, inFlight: 10, revocationMs: 15_000 }
export const SMALL: Sizes = { crowd: 60, fits: 6, answered: 4, inFlight: 2, revocationMs: 5_000 }

const WHOLE: ReplyPlan = { usage: 'asked', spelling: 'openai', cached: 0, ending: 'whole' }
const BOTH: readonly Mode[] = ['stream', 'JSON']
const SPELLINGS: readonly (readonly [Spelling, string])[] = [
  ['openai', 'prompt_tokens_details.cached_tokens'],
  ['responses', 'input_tokens_details.cached_tokens'],
  ['deepseek', 'prompt_cache_hit_tokens'],
  ['moonshot', 'usage.cached_tokens'],
  ['anthropic', 'cache_read_input_tokens, outside the prompt'],
  ['gemini', 'cachedContentTokenCount'],
]

export function scenariosOf(sizes: Sizes): readonly Scenario[] {
  const { answered, crowd, fits, inFlight, revocationMs } = sizes
  const many = crowd.toLocaleString('en')
  return [
    call('a call without incident'),
    call('the client does not ask for the usage of its stream', {
      modes: ['stream'],
      asksForUsage: false,
    }),
    call('the client leaves before the first token', { leaves: 'before the first token' }),
    call('the client leaves early', { modes: ['stream'], leaves: 'early' }),
    call('the client leaves late', { modes: ['stream'], leaves: 'late' }),
    call('the provider dies in the middle', { reply: { ...WHOLE, ending: 'dies' } }),
    call('the provider truncates the reply', { reply: { ...WHOLE, ending: 'truncated' } }),
    call('the provider reports its usage late', { modes: ['stream'], reply: { ...WHOLE, usage: 'late' } }),
    call('the provider reports its usage with each chunk', {
      modes: ['stream'],
      reply: { ...WHOLE, usage: 'each-chunk' },
    }),
    call('the provider reports nothing', { reply: { ...WHOLE, usage: 'never' } }),
    ...SPELLINGS.map(([spelling, words]) =>
      call(`cached tokens as ${words}`, { reply: { ...WHOLE, spelling, cached: 40 } }),
    ),
    { kind: 'retry', name: 'the client retries after a lost reply', modes: BOTH, reply: WHOLE },
    {
      kind: 'crowd',
      name: `${many} calls at once on credit for ${fits}`,
      limit: 'credit',
      calls: crowd,
      fits,
    },
    {
      kind: 'crowd',
      name: `${many} calls at once under a monthly cap for ${fits}`,
      limit: 'monthly cap',
      calls: crowd,
      fits,
    },
    { kind: 'revocation', name: 'a key is revoked while it is used', patienceMs: revocationMs },
    {
      kind: 'kill',
      name: `kill -9 after ${answered} answers, with ${inFlight} streams in flight`,
      answered,
      inFlight,
    },
  ]
}

function call(name: string, more: Partial<Omit<CallScenario, 'kind' | 'name'>> = {}): CallScenario {
  return { kind: 'call', name, modes: BOTH, reply: WHOLE, asksForUsage: true, ...more }
}
