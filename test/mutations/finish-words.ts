import type { JsonObject } from '../recordings/recording.js'

type Meaning = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'failure' | 'dropped' | 'unknown'

/** The meaning of each word that is used here, as providers document them. */
const MEANINGS = new Map<string, Meaning>(
  (
    [
      ['stop', ['stop', 'STOP', 'FINISH_REASON_STOP', 'end_turn', 'COMPLETE', 'eos_token']],
      ['length', ['length', 'MAX_TOKENS', 'FinishReason.MAX_TOKENS', 'max_tokens', 'model_length']],
      ['tool_calls', ['tool_calls', 'function_call', 'tool_use', 'tool-calls']],
      [
        'content_filter',
        ['content_filter', 'SAFETY', 'RECITATION', 'refusal', 'content_filter: PROHIBITED_CONTENT'],
      ],
      ['failure', ['error', 'network_error', 'ERROR', 'abort', 'insufficient_system_resource', 'timeout']],
      ['dropped', ['MALFORMED_FUNCTION_CALL', 'unexpected tool call']],
    ] as const
  ).flatMap(([meaning, words]) => words.map((word) => [word, meaning] as const)),
)
/** Words for a reply that goes on. */
const NOT_YET = new Set(['', 'null', 'in_progress', 'FINISH_REASON_UNSPECIFIED'])

export function meaningOf(word: string): Meaning {
  return MEANINGS.get(once(word)) ?? 'unknown'
}

/** A word that was sent twice, as one. */
function once(word: string): string {
  const half = word.slice(0, word.length / 2)
  return half !== '' && half + half === word ? once(half) : word
}

function isNotYet(word: string): boolean {
  return NOT_YET.has(once(word))
}

/** Whether a choice says by its finish reason that it failed. */
export function saysFailure(choice: JsonObject): boolean {
  const word = deciding(choice)
  return typeof word === 'string' && meaningOf(word) === 'failure'
}

/** Returns the word for the end that decides, and the one that clients are shown. */
export function wordIn(choice: JsonObject): { word: string; native: string } | undefined {
  const word = deciding(choice)
  if (typeof word !== 'string' || isNotYet(word)) return undefined
  const shown = meaningOf(word) === 'dropped' ? word : choice.native_finish_reason
  return { word, native: typeof shown === 'string' && !isNotYet(shown) ? shown : word }
}

/** Of two words, the provider's own decides if the other says less. */
function deciding(choice: JsonObject): unknown {
  const word = choice.finish_reason ?? choice.finishReason
  const own = choice.native_finish_reason
  if (typeof word !== 'string' || word === '' || typeof own !== 'string' || own === '') return word
  switch (meaningOf(word)) {
    case 'failure':
      return meaningOf(own) === 'dropped' ? own : word
    case 'unknown':
      return own
    case 'stop':
      return ['stop', 'unknown'].includes(meaningOf(own)) ? word : own
    default:
      return word
  }
}
