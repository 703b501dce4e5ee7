import type { ProviderError } from '../../base/errors.js'
import type { RouteFlaw } from '../../contracts/route-health.js'
import { refusesContent } from './content-refusal.js'

/** The parts of a failed call that matter for its cause. */
export interface RefusedCall {
  /** The provider's name of the model. */
  readonly upstreamModel: string
  /** The names of its parameters that the host had to allow. */
  readonly parameters: readonly string[]
  /** Returns the least tokens of its input plus the most of its output. */
  tokens(): number
}

const LONGEST_WORDS = 4_096
/** A provider with little credit left refuses even calls of this size for their length. */
const SMALL_CALL_TOKENS = 1_000

/** Matches "This request requires more credits, or fewer max_tokens" and "Prompt tokens limit exceeded". */
const ABOUT_LENGTH = /max_(?:completion_|output_)?tokens|fewer tokens|can only afford|tokens? limit exceeded/i
const QUOTA_CODE = /^(?:insufficient_quota|insufficient_balance|exceeded_current_quota_error)$/i
const KEY_CODE =
  /key|auth|permission|credential|account|organi[sz]ation|project|billing|subscription|country|region|access[-_ ]?denied/i
const KEY_WORDS =
  /\b(?:(?:api|access)[-_ ]?keys?|keys?|credentials?|accounts?|organi[sz]ations?|projects?|workspaces?|subscriptions?|permissions?|billing|country|region|territory|firewall|virtual network|(?:un)?auth\w+|(?:access|bearer|invalid|expired) token)\b|密钥|账[号户]|权限/i
const REQUEST_WORDS = /\b(?:prompts?|content|messages?|inputs?|images?|files?|urls?|tools?)\b/i
const MODEL_CODE = /model|deployment/i
const MODEL_WORDS = /\b(?:models?|deployments?)\b|模型/i
/** Parameters that refer to something stored at the provider, which may be gone. */
const STORED = /file|cache|previous|conversation|container|thread|assistant|^prompt$|_ids?$/i

/**
 * Returns the fault that a provider finds with the host, whoever calls: its key, its credit, or the model's name.
 * Undefined if the call itself may be the cause, or if the failure has nothing to do with the host's settings. Only for
 * calls with the host's key.
 */
export function routeFlaw(failure: ProviderError, call: RefusedCall): RouteFlaw | undefined {
  const { param, providerCode = '', providerMessage = '', reason, status } = failure
  if ((reason !== 'status' && reason !== 'error-frame') || refusesContent(failure)) return undefined
  const code = providerCode.slice(0, LONGEST_WORDS)
  const words = providerMessage.slice(0, LONGEST_WORDS)
  switch (status) {
    case 401:
      return 'key'
    case 402:
      return ABOUT_LENGTH.test(words) && call.tokens() >= SMALL_CALL_TOKENS ? undefined : 'credit'
    case 403:
      if (namesStored(call)) return undefined
      if (MODEL_CODE.test(code)) return 'model'
      return KEY_CODE.test(code) || (KEY_WORDS.test(words) && !REQUEST_WORDS.test(words)) ? 'key' : undefined
    case 404:
      if (namesStored(call)) return undefined
      return param === 'model' ||
        MODEL_CODE.test(code) ||
        MODEL_WORDS.test(words) ||
        words.includes(call.upstreamModel)
        ? 'model'
        : undefined
    case 429:
      return QUOTA_CODE.test(code) ? 'credit' : undefined
  }
  return undefined
}

function namesStored({ parameters }: RefusedCall): boolean {
  return parameters.some((name) => STORED.test(name))
}
